import { totalTokens } from "@ravi/kernel";
import { count, usd } from "./figures.ts";
import type { TreeNode } from "../run-tree.ts";
import { cutOffWords } from "./stopped-by.ts";

/**
 * Draws the tree as a Mermaid flowchart. Nodes have numbers as ids, since the name of an agent may contain anything; the names
 * are in the labels.
 */
export function drawMermaid(root: TreeNode): string {
  const lines = ["flowchart TD"];
  let next = 0;
  const draw = (node: TreeNode): string => {
    const id = `a${next++}`;
    const { agentId, status, usage, costUsd } = node;
    const cutOff = cutOffWords(node);
    const end = cutOff === undefined ? status : `${status} (${cutOff})`;
    const words = [agentId, end, count(totalTokens(usage), "token"), usd(costUsd)];
    lines.push(`  ${id}["${words.map(escape).join("<br/>")}"]`);
    for (const child of node.children) lines.push(`  ${id} --> ${draw(child)}`);
    return id;
  };
  draw(root);
  return lines.join("\n");
}

/** Escapes all but letters, digits and a few signs, so that a label is always text and never markup. */
function escape(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N} _.,/$@-]/gu, (sign) => `#${sign.codePointAt(0)};`);
}
