import { type AgentAccount, type AgentId, addUsage, type Usage } from "@ravi/kernel";
import type { CallAccount, CallLog } from "./call-log.ts";
import { drawMermaid } from "./mermaid.ts";
import { drawText } from "./text.ts";

/** One agent of a run: what it did and spent itself, and the same with all whom it hired. */
export interface TreeNode extends AgentAccount {
  /** In the order in which they ended; the first 10,000 of a run. */
  readonly calls: readonly CallAccount[];
  readonly children: readonly TreeNode[];
  readonly total: { readonly usage: Usage; readonly costUsd: number | null };
}

/** Who worked for whom and spent what. Prints as text, as Mermaid and as JSON. */
export interface RunTree {
  readonly root: TreeNode;
  /** Calls that are counted in the sums and not listed, because there were too many. */
  readonly callsNotListed: number;
  /** Every agent, the root first, each before those whom it hired. */
  agents(): readonly TreeNode[];
  toString(): string;
  /** A Mermaid flowchart, for a README or an issue. */
  toMermaid(): string;
  toJSON(): TreeNode;
}

export function runTree(accounts: readonly [AgentAccount, ...AgentAccount[]], log: CallLog): RunTree {
  const [first] = accounts;
  const byParent = Map.groupBy(accounts.slice(1), ({ parent }) => parent ?? first.agentId);
  const root = nodeOf(first, byParent, log);
  const tree: RunTree = {
    root,
    callsNotListed: log.dropped,
    agents: () => flat(root),
    toString: () => drawText(root),
    toMermaid: () => drawMermaid(root),
    toJSON: () => root,
  };
  // What `console.log(result)` shows is the tree and not its parts.
  Object.defineProperty(tree, Symbol.for("nodejs.util.inspect.custom"), { value: () => drawText(root) });
  return Object.freeze(tree);
}

/** Each list is taken out when it is used, so that accounts which name one another do not go round in circles. */
function nodeOf(account: AgentAccount, byParent: Map<AgentId, AgentAccount[]>, log: CallLog): TreeNode {
  const hired = byParent.get(account.agentId) ?? [];
  byParent.delete(account.agentId);
  const children = hired.map((child) => nodeOf(child, byParent, log));
  return {
    ...account,
    calls: log.of(account.execId),
    children,
    total: {
      usage: children.reduce((sum, { total }) => addUsage(sum, total.usage), account.usage),
      costUsd: children.reduce((sum, { total }) => addUsd(sum, total.costUsd), account.costUsd),
    },
  };
}

/** In whole billionths, so that many small sums add up to what they are. A sum with a hole in it is none. */
function addUsd(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : (Math.round(a * 1e9) + Math.round(b * 1e9)) / 1e9;
}

function flat(node: TreeNode): TreeNode[] {
  return [node, ...node.children.flatMap(flat)];
}
