import {
  type Agent,
  AgentId,
  agentName,
  type AgentResult,
  type DeadlineExceededError,
  errorFromJSON,
  errorToJSON,
  ExecId,
  type ExecutionBudgetOptions,
  type HireLeaf,
  type HireOutcome,
  isCancellation,
  isRaviError,
  type JsonObject,
  type JsonValue,
  type Lease,
  MiddlewareTermination,
  type RaviError,
  type RunHandle,
  type RunStatus,
  type SerializedError,
  type StopReason,
} from "@ravi/kernel";
import type { Effect } from "../engine/effect.ts";
import { host } from "../host.ts";
import type { Child } from "./child.ts";
import type { Execution } from "./execution.ts";
import { digest } from "./fingerprint.ts";
import { ExecutionInbox } from "./inbox.ts";
import { tighterBudget, withAgentLedger, withExtraOf } from "./ledgers.ts";
import { denialOf } from "./permission.ts";
import { planFor } from "./plan.ts";

export type Terms<T = unknown> = Omit<HireLeaf<T>, "kind">;

/** Where a hire stands among the others of its execution; taken when it is asked for, whatever it then waits for. */
export interface HirePlace {
  readonly key: string;
  readonly number: number;
}

export function takePlace(exec: Execution, agent: Agent): HirePlace {
  return { key: exec.nextKey("hire", agentName(agent.id)), number: ++exec.hires };
}

/** A hire as a recorded effect: it takes a seat, runs the child to its end, and gives the seat back. */
export class Hire implements Effect<HireOutcome> {
  readonly key: string;
  readonly onDoubt = "resume";
  readonly started = Promise.withResolvers<void>();
  private readonly exec: Execution;
  private readonly terms: Terms;
  private readonly isJoinable: boolean;
  private readonly number: number;
  private readonly budget: ExecutionBudgetOptions | undefined;
  private deadlineAt: { readonly at: number | null } | undefined;
  private readonly execId: ExecId;
  private living: Execution | undefined;
  private known: Child | undefined;
  private status: RunStatus = "pending";
  private ended: Promise<HireOutcome> | undefined;

  /** With `isJoinable` somebody may ask for its outcome after its end. */
  constructor(exec: Execution, place: HirePlace, terms: Terms, isJoinable: boolean) {
    this.exec = exec;
    this.terms = terms;
    this.isJoinable = isJoinable || terms.onTimeout === "leave";
    this.key = place.key;
    this.number = place.number;
    this.budget = tighterBudget(terms.agent, terms.executionBudget);
    this.execId = ExecId(exec.execId, this.key);
  }

  get what(): string {
    return `the hire of ${this.terms.agent.id}`;
  }

  /** Whether there is a child, living or over; not where it was denied. */
  get hasChild(): boolean {
    return this.known !== undefined;
  }

  get child(): Child {
    if (this.known === undefined) throw new TypeError("the hire has not begun");
    return this.known;
  }

  /** The outcome, whoever waits for it: a child that nobody joins must not become an unhandled rejection. */
  watch(ended: Promise<HireOutcome>): void {
    this.ended = ended;
    ended.then(
      (outcome) => (this.status = statusOf(outcome)),
      () => (this.status = "suspended"),
    );
  }

  /** A layer around the agent answered for it: nobody is hired, and there is an outcome to join all the same. */
  answeredBy(result: AgentResult): this {
    const outcome: HireOutcome = { status: result.status, result };
    this.status = statusOf(outcome);
    this.known = { handle: this.makeHandle(), inbox: undefined, outcome: Promise.resolve(outcome) };
    if (this.isJoinable) this.exec.children.set(this.execId, this.known);
    return this;
  }

  cancel(error: DeadlineExceededError): void {
    this.living?.token.cancel(error);
  }

  fingerprint(): string {
    const { agent, input } = this.terms;
    return digest(`${nameOf(agent)}\n${input}`);
  }

  begin(): JsonObject {
    const { agent, input, priority } = this.terms;
    const { budget } = this;
    return {
      agent: nameOf(agent),
      agentId: this.agentId(),
      input,
      parentId: this.exec.agentId,
      deadline: this.deadline(),
      ...(priority !== undefined && { priority }),
      ...(budget !== undefined && { budget: { ...budget } }),
    };
  }

  async run(): Promise<HireOutcome> {
    const { exec, terms } = this;
    let lease: Lease | undefined;
    try {
      const denied = await denialOf(exec, "hire", nameOf(terms.agent), terms.input);
      if (denied !== undefined) throw new MiddlewareTermination({ layer: "permissions", reason: denied });
      lease = await this.takeSeat();
      this.living = this.makeExecution();
    } catch (error) {
      lease?.release();
      // A seat that a resumed run brought along is given back as well.
      if (exec.tree.restoredSeats.delete(this.execId)) await exec.tree.headcount?.release(this.agentId());
      // Who waited for a seat when everything was suspended waits for it again.
      if (exec.tree.suspension !== undefined) throw exec.tree.suspension;
      if (!isRaviError(error)) throw error;
      return { status: isCancellation(error) ? "cancelled" : "denied", error };
    }
    const execution = this.living;
    const inbox = new ExecutionInbox(execution, terms.input);
    this.status = "running";
    this.known = this.makeChild(inbox);
    exec.children.set(this.execId, this.known);
    this.started.resolve();
    try {
      return await host(execution, inbox);
    } finally {
      lease?.release();
      execution.token.dispose();
      this.living = undefined;
      // A finished child leaves its outcome to whoever joins it, and nothing of what it worked with.
      if (this.isJoinable) exec.children.set(this.execId, { ...this.known, inbox: undefined });
      else exec.children.delete(this.execId);
    }
  }

  record(outcome: HireOutcome): JsonObject {
    if ("result" in outcome) return { status: outcome.status, result: resultToJSON(outcome.result) };
    if ("error" in outcome) return { status: outcome.status, failure: errorToJSON(outcome.error) };
    return { status: outcome.status };
  }

  restore(body: JsonObject): HireOutcome {
    const outcome = restoreOutcome(body);
    this.status = statusOf(outcome);
    if (outcome.status !== "denied") {
      this.known = { handle: this.makeHandle(), inbox: undefined, outcome: Promise.resolve(outcome) };
      if (this.isJoinable) this.exec.children.set(this.execId, this.known);
    }
    return outcome;
  }

  private makeChild(inbox: ExecutionInbox): Child {
    const outcome = this.ended ?? Promise.reject(new TypeError("the hire is not watched"));
    return { handle: this.makeHandle(), inbox, outcome };
  }

  private makeHandle(): RunHandle {
    const status = (): RunStatus => this.status;
    return {
      runId: this.exec.tree.runId,
      execId: this.execId,
      agentId: this.agentId(),
      get status() {
        return status();
      },
      cancel: (reason) => this.living?.token.cancel(reason),
    };
  }

  private agentId(): AgentId {
    const { agentId } = this.exec;
    const slash = agentId.indexOf("/");
    // The numbers of all hires on the way down: no two agents of a tree have the same.
    const path = slash === -1 ? String(this.number) : `${agentId.slice(slash + 1)}.${this.number}`;
    return AgentId(agentName(this.terms.agent.id), path);
  }

  /** How long the child was parked without its seat. */
  parkedMs(now: number): number {
    const { living } = this;
    if (living === undefined) return 0;
    return living.parkedMs + (living.parkedSince === undefined ? 0 : now - living.parkedSince);
  }

  /** Decided once: a child that waits for its seat has no more time than one that does not. */
  private deadline(): number | null {
    this.deadlineAt ??= { at: this.decideDeadline() };
    return this.deadlineAt.at;
  }

  private decideDeadline(): number | null {
    const recorded = this.exec.tree.recording?.of(this.exec.execId).steps.get(this.key)?.begin?.body[
      "deadline"
    ];
    if (typeof recorded === "number" || recorded === null) return recorded;
    const seconds = this.budget?.deadlineS ?? null;
    const own = seconds === null ? null : this.exec.tree.ports.clock.now() + seconds * 1000;
    const { deadline } = this.exec;
    return own === null || deadline === null ? (own ?? deadline) : Math.min(own, deadline);
  }

  private async takeSeat(): Promise<Lease | undefined> {
    const { exec, terms, execId } = this;
    const { headcount, restoredSeats } = exec.tree;
    if (headcount === undefined) return undefined;
    const agentId = this.agentId();
    if (restoredSeats.delete(execId)) {
      return {
        agentId,
        release: () => void headcount.release(agentId),
        [Symbol.dispose]: () => void headcount.release(agentId),
      };
    }
    const parentId = exec.agentId;
    if (terms.onFull !== "queue") return headcount.acquire(agentId, terms.priority, { parentId });
    return headcount.acquire(agentId, terms.priority, { parentId, onFull: "queue", signal: exec.signal });
  }

  private makeExecution(): Execution {
    const { exec, terms, execId } = this;
    const { agent } = terms;
    const { tree } = exec;
    const agentId = this.agentId();
    const supervision = exec.supervision.spawnChild({
      agentId,
      retention: terms.retention,
      priority: terms.priority,
      executionBudget: this.budget,
    });
    const restored = tree.restoredLedgers.get(execId);
    const ledger =
      restored === undefined
        ? exec.ledger?.child(this.budget ?? {}, agentId)
        : withExtraOf(exec.ledger, restored, agentId);
    return exec.descend({
      agent,
      plan: planFor(agent, tree.ports),
      supervision,
      execId,
      token: exec.token.child(),
      deadline: this.deadline(),
      ledger: withAgentLedger(agent, ledger),
      onPreempt: terms.onPreempt ?? "park",
    });
  }
}

export function nameOf(agent: Agent): string {
  return `${agentName(agent.id)}@${agent.version ?? "1"}`;
}

type ResultRecord = {
  readonly status: AgentResult["status"];
  readonly output: string;
  readonly stopReason: StopReason;
  readonly structured?: JsonValue;
};

/** A structured result is recorded as the model's JSON; whoever needs its type parses it again. */
function resultToJSON({ status, output, stopReason, structured }: AgentResult): ResultRecord {
  const record = { status, output, stopReason };
  return structured === undefined ? record : { ...record, structured: structured as JsonValue };
}

function restoreOutcome(body: JsonObject): HireOutcome {
  const status = body["status"] as HireOutcome["status"];
  if (status === "completed" || status === "partial" || status === "paused") {
    return { status, result: body["result"] as ResultRecord };
  }
  const error = errorFromJSON(body["failure"] as SerializedError) as RaviError;
  return { status: status === "timedOut" ? "failed" : status, error };
}

function statusOf(outcome: HireOutcome): RunStatus {
  const { status } = outcome;
  return status === "paused" || status === "timedOut" ? "suspended" : status === "denied" ? "failed" : status;
}
