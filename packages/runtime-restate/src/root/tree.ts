import { addUsage, type AgentAccount, type JsonValue, NO_USAGE, Supervision, type Usage } from "@ravi/kernel";
import { Books, type LedgerFactory } from "./books.ts";
import type { Launch, Standing, Stopped } from "./messages.ts";
import { emptyOutbox, type Outbox } from "./outbox.ts";
import { type HeadcountFactory, Seats } from "./seats.ts";
import { drop, type ExecState, type RootState } from "./state.ts";

export interface TreePorts {
  readonly headcount?: HeadcountFactory | undefined;
  readonly ledger?: LedgerFactory | undefined;
}

/** A tree during one message: what is on record of it, its seats and its money, and what has to be done outward. */
export class TreeSession {
  readonly state: RootState;
  readonly seats: Seats;
  readonly books: Books;
  readonly outbox: Outbox = emptyOutbox();

  private constructor(state: RootState, seats: Seats, books: Books) {
    this.state = state;
    this.seats = seats;
    this.books = books;
  }

  static async open(state: RootState, ports: TreePorts, at: number): Promise<TreeSession> {
    // Clocks of several machines: time in a tree does not go back.
    state.at = Math.max(state.at, at);
    const root = Supervision.fromJSON(rootOf(state).launch.supervision);
    return new TreeSession(
      state,
      Seats.open(state, root, ports.headcount),
      await Books.open(state, root, ports.ledger),
    );
  }

  exec(execId: string): ExecState | undefined {
    return this.state.execs[execId];
  }

  resolve(awakeable: string | undefined, value: JsonValue): void {
    if (awakeable !== undefined) this.outbox.resolved.push({ awakeable, value });
  }

  launch(launch: Launch): void {
    this.outbox.launched.push(launch);
  }

  /** What is told with every answer, so that nobody has to ask for it. */
  async standing(execId: string): Promise<Standing> {
    const { state, seats, books } = this;
    const exec = state.execs[execId];
    return {
      at: state.at,
      paused: exec !== undefined && (await seats.isPaused(exec.agentId)),
      remaining: books.remaining(execId),
      isMetered: books.isMetered,
      stopped: exec?.stopped,
    };
  }

  /** The newest lane of an execution; false for an attempt that is dead, or an execution that is over. */
  enterLane(execId: string, lane: number): boolean {
    const exec = this.state.execs[execId];
    if (exec === undefined || exec.phase === "over" || lane < exec.lane) return false;
    if (lane > exec.lane) {
      exec.lane = lane;
      for (const [key, given] of Object.entries(exec.given)) if (given.lane < lane) drop(exec.given, key);
    }
    return true;
  }

  stop(execId: string, stopped: Stopped, alone: boolean): void {
    const exec = this.state.execs[execId];
    if (exec === undefined || exec.phase === "over") return;
    if (exec.stopped === undefined) {
      exec.stopped = stopped;
      this.resolve(exec.stop, stopped);
    }
    if (alone) return;
    for (const child of this.childrenOf(execId)) this.stop(child, stopped, false);
  }

  childrenOf(execId: string): string[] {
    return Object.entries(this.state.execs).flatMap(([id, { parent }]) => (parent === execId ? [id] : []));
  }

  /** Whoever has its seat again, or for the first time, goes on; whoever lost it begins to wait. */
  async seatEverybody(): Promise<void> {
    const { state, seats } = this;
    for (const [execId, exec] of Object.entries(state.execs)) {
      if (exec.phase === "over") continue;
      if (exec.phase === "queued") {
        if (exec.stopped === undefined && !seats.hasComeUp(exec.agentId)) continue;
        exec.phase = "running";
        this.unpark(exec);
        if (exec.launch !== null) this.launch(exec.launch);
        exec.launch = null;
        continue;
      }
      const paused = await seats.isPaused(exec.agentId);
      if (paused) exec.unseatedSince ??= state.at;
      else this.unpark(exec);
      if (!paused && exec.parked !== undefined) {
        this.resolve(exec.parked, await this.standing(execId));
        exec.parked = undefined;
      }
    }
  }

  get isWaiting(): boolean {
    return Object.values(this.state.execs).some(
      ({ phase, wants }) => phase !== "over" && Object.keys(wants).length > 0,
    );
  }

  private unpark(exec: ExecState): void {
    if (exec.unseatedSince === undefined) return;
    exec.unseatedMs += this.state.at - exec.unseatedSince;
    exec.unseatedSince = undefined;
  }
}

export function rootOf(state: RootState): ExecState & { readonly launch: Launch } {
  const root = state.execs[state.runId];
  if (root === undefined || root.launch === null)
    throw new TypeError(`the record of ${state.runId} has no root`);
  return { ...root, launch: root.launch };
}

/** What an execution and all below it have used, as far as they are over. */
export function tookBelow(state: RootState, execId: string): { usage: Usage; costUsd: number | null } {
  let usage: Usage = NO_USAGE;
  let nano: number | null = 0;
  for (const [id, { account }] of Object.entries(state.execs)) {
    if (account === undefined || (id !== execId && !id.startsWith(`${execId}/`))) continue;
    usage = addUsage(usage, account.usage);
    nano = nano === null || account.costUsd === null ? null : nano + Math.round(account.costUsd * 1e9);
  }
  return { usage, costUsd: nano === null ? null : nano / 1e9 };
}

/** Who worked in the tree and what each used; one that never told has used nothing that anybody knows. */
export function accountsOf(state: RootState): AgentAccount[] {
  return Object.entries(state.execs).map(([execId, { account, agentId, parent, priority, phase }]) => {
    if (account !== undefined) return account;
    const above = parent === null ? null : (state.execs[parent]?.agentId ?? null);
    const status = phase === "queued" ? "pending" : "running";
    return {
      execId: execId as AgentAccount["execId"],
      agentId: agentId as AgentAccount["agentId"],
      parent: above as AgentAccount["parent"],
      priority: priority ?? 2,
      status,
      usage: NO_USAGE,
      costUsd: 0,
      modelCalls: 0,
      toolCalls: 0,
      retries: 0,
      wasteUsd: 0,
    };
  });
}
