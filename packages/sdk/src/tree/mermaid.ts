import { totalTokens } from "@ravi/kernel";
import { count, usd } from "./figures.ts";
import type { TreeNode } from "./run-tree.ts";

/** Numbered nodes, since agents may be called anything; what they are called is in their labels. */
export function drawMermaid(root: TreeNode): string {
  const lines = ["flowchart TD"];
  let next = 0;
  const draw = (node: TreeNode): string => {
    const id = `a${next++}`;
    const { agentId, status, usage, costUsd } = node;
    const words = [agentId, status, count(totalTokens(usage), "token"), usd(costUsd)];
    lines.push(`  ${id}["${words.map(escape).join("<br/>")}"]`);
    for (const child of node.children) lines.push(`  ${id} --> ${draw(child)}`);
    return id;
  };
  draw(root);
  return lines.join("\n");
}

/** Only letters, digits and a few signs stand as they are: a label is text and never markup. */
function escape(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} _.,/$@-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}
