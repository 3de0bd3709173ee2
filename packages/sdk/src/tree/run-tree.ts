import { type AgentAccount, type AgentId, addUsage, type Usage } from "@ravi/kernel";
import { addCost } from "@ravi/kernel/loop";
import type { CallAccount, Calls } from "./call-log.ts";
import { drawMermaid } from "./print/mermaid.ts";
import { withSdkNames } from "./print/stopped-by.ts";
import { drawText } from "./print/text.ts";

/** One agent of a run: what it used itself and, in `total`, together with everyone it hired. */
export interface TreeNode extends AgentAccount {
  /** Its calls, in the order in which they ended. Only the first 10,000 calls of a run are kept. */
  readonly calls: readonly CallAccount[];
  /** The agents that it hired. */
  readonly children: readonly TreeNode[];
  /** Of this agent and all agents below it. `costUsd` is null if the price of any call is not known. */
  readonly total: { readonly usage: Usage; readonly costUsd: number | null };
}

/** Which agent hired which, and what each spent. Prints as text, as a Mermaid flowchart and as JSON. */
export interface RunTree {
  readonly root: TreeNode;
  /** The number of calls that are in the totals but in no `calls` list, because there were too many. */
  readonly callsNotListed: number;
  /** All agents, the root first and each one before those that it hired. */
  agents(): readonly TreeNode[];
  /** A table as text, with one line for each agent. */
  toString(): string;
  /** A Mermaid flowchart, for a README or an issue. */
  toMermaid(): string;
  toJSON(): TreeNode;
}

export function runTree(accounts: readonly [AgentAccount, ...AgentAccount[]], log: Calls): RunTree {
  const [first, ...others] = accounts;
  const byParent = Map.groupBy(others, ({ parent }) => parent ?? first.agentId);
  const named = (account: AgentAccount): AgentAccount => {
    const { stoppedBy } = account;
    return stoppedBy === undefined ? account : { ...account, stoppedBy: withSdkNames(stoppedBy, accounts) };
  };
  return new Tree(nodeOf(first, { byParent, log, named }), log.dropped);
}

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

class Tree implements RunTree {
  readonly root: TreeNode;
  readonly callsNotListed: number;

  constructor(root: TreeNode, callsNotListed: number) {
    this.root = root;
    this.callsNotListed = callsNotListed;
    Object.freeze(this);
  }

  agents(): readonly TreeNode[] {
    return flat(this.root);
  }

  toString(): string {
    return drawText(this.root);
  }

  toMermaid(): string {
    return drawMermaid(this.root);
  }

  toJSON(): TreeNode {
    return this.root;
  }

  /** Makes `console.log(result)` print the tree as text. */
  [INSPECT](): string {
    return drawText(this.root);
  }
}

interface Sources {
  readonly byParent: Map<AgentId, AgentAccount[]>;
  readonly log: Calls;
  /** An account, with the names of the sdk's options. */
  readonly named: (account: AgentAccount) => AgentAccount;
}

/**
 * Each list of children is removed when it is used. Otherwise accounts that name one another as parents would recurse without
 * end.
 */
function nodeOf(account: AgentAccount, sources: Sources): TreeNode {
  const { byParent, log, named } = sources;
  const hired = byParent.get(account.agentId) ?? [];
  byParent.delete(account.agentId);
  const children = hired.map((child) => nodeOf(child, sources));
  return {
    ...named(account),
    calls: log.of(account.execId),
    children,
    total: {
      usage: children.reduce((sum, { total }) => addUsage(sum, total.usage), account.usage),
      costUsd: children.reduce((sum, { total }) => addCost(sum, total.costUsd), account.costUsd),
    },
  };
}

function flat(node: TreeNode): TreeNode[] {
  return [node, ...node.children.flatMap(flat)];
}
