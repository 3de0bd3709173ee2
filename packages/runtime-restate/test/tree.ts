import type { JsonObject, Supervision } from "@ravi/kernel";
import { type Answer, begin, decide, type Message, type MessageName, runViewOf } from "../src/root/decide.ts";
import type { Launch, RunView } from "../src/root/messages.ts";
import type { RootState } from "../src/root/state.ts";
import { summaryOf } from "../src/root/summary.ts";
import type { TreePorts } from "../src/root/tree.ts";
import { QueueHeadcount, TurnLedger } from "./fakes.ts";

export const PORTS: TreePorts = {
  headcount: (root, snapshot) => new QueueHeadcount(root, snapshot),
  ledger: (root: Supervision) => new TurnLedger(root.executionBudget),
};

/** So many bytes of noise have room in a state, and the same once more beside them has none: packed, 24 MiB are the most. */
export const LARGE = 12.25 * 1024 * 1024;

/** The root object without its server: what is kept goes through JSON between any two messages. */
export class StoredTree {
  readonly launched: Launch[] = [];
  readonly resolved = new Map<string, unknown>();
  private stored: string;
  private readonly ports: TreePorts;
  private at = 1_000;

  private constructor(stored: string, ports: TreePorts) {
    this.stored = stored;
    this.ports = ports;
  }

  static async start(launch: Launch, ports: TreePorts = PORTS): Promise<StoredTree> {
    const { state, outbox } = await begin(ports, { launch, at: 1_000, nonce: "start" });
    const tree = new StoredTree(JSON.stringify(state), ports);
    tree.launched.push(...outbox.launched);
    return tree;
  }

  get state(): RootState {
    return JSON.parse(this.stored) as RootState;
  }

  /** What the list of runs has of it: written only when a decision says that it has changed. */
  summary: JsonObject = {};

  get standings(): RunView {
    return runViewOf(this.state, this.ports);
  }

  async say<N extends MessageName>(name: N, message: Omit<Message<N>, "at">): Promise<Answer<N>> {
    const sent = JSON.parse(JSON.stringify({ at: ++this.at, ...message })) as Message<N>;
    const { state, answer, outbox, hasNewSummary } = await decide(this.state, this.ports, name, sent);
    if (hasNewSummary) this.summary = JSON.parse(JSON.stringify(summaryOf(state))) as JsonObject;
    this.stored = JSON.stringify(state);
    this.launched.push(...outbox.launched);
    for (const { awakeable, value } of outbox.resolved) this.resolved.set(awakeable, value);
    return JSON.parse(JSON.stringify(answer)) as Answer<N>;
  }
}

export function admission(execId: string, lane: number, key: string, nonce: string) {
  return { execId, lane, key, nonce, onDoubt: "retry", reserve: { turns: 1 }, settle: [] } as const;
}

export function over(execId: string) {
  const result = { status: "completed", output: execId, stopReason: "done" } as const;
  return { execId, outcome: { status: "completed", result }, settle: [] };
}
