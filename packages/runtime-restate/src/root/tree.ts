import {
  addUsage,
  type AgentAccount,
  type BudgetWarning,
  type JsonValue,
  NO_USAGE,
  Priority,
  Supervision,
  type Usage,
} from "@ravi/kernel";
import { addCost } from "@ravi/kernel/loop";
import { TreeLedgers, type LedgerFactory } from "./tree-ledgers.ts";
import { addLost, withLost } from "./lost.ts";
import type { Launch, AbandonedCall, Settle, Standing, Stopped, UsedSoFar } from "./messages.ts";
import { emptyOutbox, type Outbox } from "./outbox.ts";
import { type HeadcountFactory, Seats } from "./seats.ts";
import { drop, type ExecState, type RootState } from "./state.ts";

export interface TreePorts {
  readonly headcount?: HeadcountFactory | undefined;
  readonly ledger?: LedgerFactory | undefined;
}

/** A tree while one message, or several together, are decided: its state, seats and money, and the actions to take at the end. */
export class TreeSession {
  readonly state: RootState;
  readonly seats: Seats;
  readonly ledgers: TreeLedgers;
  readonly outbox: Outbox = emptyOutbox();

  private constructor(state: RootState, seats: Seats, ledgers: TreeLedgers) {
    this.state = state;
    this.seats = seats;
    this.ledgers = ledgers;
  }

  static async open(state: RootState, ports: TreePorts): Promise<TreeSession> {
    const root = Supervision.fromJSON(rootOf(state).launch.supervision);
    return new TreeSession(
      state,
      Seats.open(state, root, ports.headcount),
      await TreeLedgers.open(state, root, ports.ledger),
    );
  }

  /** The clocks of several machines differ: time in a tree never goes back. */
  advanceTime(at: number): void {
    this.state.at = Math.max(this.state.at, at);
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

  /** The state that every answer contains, so that an execution need not ask for it. */
  async standing(execId: string): Promise<Standing> {
    const { state, seats, ledgers } = this;
    const exec = state.execs[execId];
    return {
      at: state.at,
      paused: exec !== undefined && (await seats.isPaused(exec.agentId)),
      remaining: ledgers.remaining(execId),
      isMetered: ledgers.isMetered,
      stopped: exec?.stopped,
    };
  }

  /** Notes what an execution reports about itself with every message. */
  noteUsed(execId: string, used: UsedSoFar | undefined): void {
    const exec = this.state.execs[execId];
    if (exec !== undefined && exec.phase !== "over" && used !== undefined) exec.used = used;
  }

  /** A message proves that the execution runs: a worker was found without a `resume`. Calls in doubt still wait for a decision. */
  clearSuspension(execId: string, lane: number): void {
    const exec = this.state.execs[execId];
    if (exec !== undefined && lane >= exec.lane && Object.keys(exec.doubts).length === 0)
      exec.suspended = undefined;
  }

  /** Notes the newest lane of an execution. False if the attempt or the execution is over. */
  enterLane(execId: string, lane: number): boolean {
    const exec = this.state.execs[execId];
    if (exec === undefined || exec.phase === "over" || lane < exec.lane) return false;
    if (lane > exec.lane) {
      exec.lane = lane;
      for (const [key, given] of Object.entries(exec.given)) if (given.lane < lane) drop(exec.given, key);
    }
    return true;
  }

  /**
   * The execution that sent a message from that lane, and its standing. `exec` is undefined if the attempt or the execution is
   * over.
   */
  async senderOf(
    execId: string,
    lane: number,
  ): Promise<{ readonly exec: ExecState | undefined; readonly standing: Standing }> {
    const isCurrent = this.enterLane(execId, lane);
    const standing = await this.standing(execId);
    return { exec: isCurrent ? this.exec(execId) : undefined, standing };
  }

  /** Tells an execution to stop; unless `alone`, everyone below it too. */
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

  /**
   * Keeps warnings that could not be reported. They go with the next answer to that execution, or to the nearest living one above
   * it.
   */
  keepWarnings(execId: string, warnings: readonly BudgetWarning[]): void {
    if (warnings.length === 0) return;
    let exec = this.state.execs[execId];
    while (exec !== undefined && exec.phase === "over") exec = this.state.execs[exec.parent ?? ""];
    if (exec !== undefined) exec.untold = [...(exec.untold ?? []), ...warnings];
  }

  /** Settles reservations. Returns the new warnings and those that were kept. */
  async settle(
    execId: string,
    settles: readonly (Settle | AbandonedCall)[],
  ): Promise<readonly BudgetWarning[]> {
    const exec = this.state.execs[execId];
    const untold = exec?.untold ?? [];
    if (exec !== undefined) exec.untold = undefined;
    return [...untold, ...(await this.ledgers.settle(settles))];
  }

  /** Continues executions that have a seat again, and starts those that have their first one. */
  async updateSeats(): Promise<void> {
    const { state, seats } = this;
    for (const [execId, exec] of Object.entries(state.execs)) {
      if (exec.phase === "over") continue;
      if (exec.phase === "queued") {
        if (!seats.hasComeUp(exec.agentId)) continue;
        exec.phase = "running";
        if (exec.launch !== null) this.launch(exec.launch);
        exec.launch = null;
        continue;
      }
      if (await seats.isPaused(exec.agentId)) continue;
      for (const awakeable of exec.parked) this.resolve(awakeable, await this.standing(execId));
      exec.parked = [];
    }
  }

  /** Notes who stands still, since when and for how long, and tells those who wait until somebody goes on. */
  async updateStill(): Promise<void> {
    const { execs, at } = this.state;
    const waiting = awaitingAnswers(execs);
    for (const [execId, exec] of Object.entries(execs)) {
      const isStill =
        exec.phase !== "over" &&
        (exec.phase === "queued" || waiting.has(execId) || (await this.seats.isPaused(exec.agentId)));
      if (isStill) exec.stillSince ??= at;
      if (isStill || exec.stillSince === undefined) continue;
      exec.stillMs += at - exec.stillSince;
      exec.stillSince = undefined;
      for (const watcher of exec.watchers ?? []) this.resolve(watcher, exec.stillMs);
      exec.watchers = undefined;
    }
  }
}

/** The executions that wait for an answer from outside or are suspended, and all above them. Who was told to stop waits for nothing. */
function awaitingAnswers(execs: RootState["execs"]): ReadonlySet<string> {
  const waiting = new Set<string>();
  for (const [execId, { phase, stopped, suspended, wants }] of Object.entries(execs)) {
    if (phase === "over" || stopped !== undefined) continue;
    if (suspended === undefined && Object.keys(wants).length === 0) continue;
    for (let above: string | null = execId; above !== null && !waiting.has(above);) {
      waiting.add(above);
      above = execs[above]?.parent ?? null;
    }
  }
  return waiting;
}

/** The root's execution. Throws if the state has none. */
export function rootOf(state: RootState): ExecState & { readonly launch: Launch } {
  const root = state.execs[state.runId];
  if (root === undefined || root.launch === null)
    throw new TypeError(`the state of run ${state.runId} has no root execution`);
  return { ...root, launch: root.launch };
}

/** What an execution and everyone below it have used, as far as they have reported. */
export function usageBelow(state: RootState, execId: string): { usage: Usage; costUsd: number | null } {
  let usage: Usage = NO_USAGE;
  let costUsd: number | null = 0;
  for (const [id, { account, used, lost }] of Object.entries(state.execs)) {
    if (id !== execId && !id.startsWith(`${execId}/`)) continue;
    const reported = withLost(account ?? used ?? NOTHING_USED, lost);
    usage = addUsage(usage, reported.usage);
    costUsd = addCost(costUsd, reported.costUsd);
  }
  return { usage, costUsd };
}

/** The account of each agent in the tree. One that never reported anything counts as having used nothing. */
export function accountsOf(state: RootState): AgentAccount[] {
  return Object.entries(state.execs).map(([execId, exec]) => {
    const { account, agentId, parent, priority, used = NOTHING_USED, lost } = exec;
    if (account !== undefined) return withLost(account, lost);
    const above = parent === null ? null : (state.execs[parent]?.agentId ?? null);
    return {
      ...withLost(used, lost),
      execId: execId as AgentAccount["execId"],
      agentId: agentId as AgentAccount["agentId"],
      parent: above as AgentAccount["parent"],
      priority: priority ?? Priority.NORMAL,
      status: accountStatusOf(exec),
    };
  });
}

/** The same, with what is reserved for model calls that have not been settled. */
export function accountsWithOpen(state: RootState): AgentAccount[] {
  const open = Map.groupBy(Object.values(state.open), ({ exec }) => exec);
  return accountsOf(state).map((account) =>
    (open.get(account.execId) ?? []).reduce<AgentAccount>((sum, reserved) => {
      if (reserved.spend.turns === undefined) return sum;
      const { usage, costUsd, modelCalls } = addLost(undefined, reserved, false);
      return {
        ...sum,
        usage: addUsage(sum.usage, usage),
        costUsd: addCost(sum.costUsd, costUsd),
        modelCalls: sum.modelCalls + modelCalls,
      };
    }, account),
  );
}

const NOTHING_USED: UsedSoFar = Object.freeze({
  usage: NO_USAGE,
  costUsd: 0,
  modelCalls: 0,
  toolCalls: 0,
  retries: 0,
  wasteUsd: 0,
});

function accountStatusOf({ phase, outcome, suspended }: ExecState): AgentAccount["status"] {
  if (phase === "queued") return "pending";
  if (phase === "running") return suspended === undefined ? "running" : "suspended";
  return (outcome?.["status"] as AgentAccount["status"] | undefined) ?? "failed";
}
