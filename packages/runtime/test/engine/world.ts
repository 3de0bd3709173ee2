import {
  addUsage,
  type Agent,
  type Attachment,
  type Clock,
  type ContextPorts,
  type DeadlineExceededError,
  ExecId,
  type ExecutionStart,
  type Headcount,
  type HireOutcome,
  type HireUsage,
  type InboxMessage,
  type JsonObject,
  type JsonValue,
  type Ledger,
  NO_HOOKS,
  NO_USAGE,
  type RaviError,
  type RunEvent,
  Supervision,
  systemIds,
  type Usage,
} from "@ravi/kernel";
import { deliveryId } from "@ravi/kernel/loop";
import { createRunContext } from "../../src/create-run-context.ts";
import { outcomeToJSON, restoreOutcome } from "../../src/engine/hire-record.ts";
import { PositionalEngine } from "./positional-engine.ts";

/** One entry of an execution's journal: what was asked for at that place, and what came of it, as text. */
export interface Entry {
  readonly kind: string;
  readonly key: string;
  readonly fingerprint: string;
  body: string | undefined;
  at: number;
  paused: boolean;
  remaining: string;
}

/** An execution as the server keeps it. Agents are code, and so are found by name in a real engine. */
export interface Execution {
  start: ExecutionStart;
  readonly entries: Entry[];
  readonly ledger: Ledger | undefined;
  readonly children: ExecId[];
  readonly mail: InboxMessage[];
  /** The ids of the messages that it was ever sent. */
  readonly posted: Set<string>;
  readonly startedAt: number;
  attempts: number;
  /** At which place it was told to stop. */
  stopped: { readonly at: number; readonly why: string | DeadlineExceededError } | undefined;
  /** Why nobody works on it any more. */
  parked: RaviError | undefined;
  outcome: string | undefined;
  used: Usage;
}

export interface WorldOptions {
  readonly headcount?: Headcount | undefined;
  readonly ledger?: Ledger | undefined;
  readonly ports?: Partial<ContextPorts>;
  readonly decide?: "retry" | "skip" | "fail" | "ask";
  readonly clock: Required<Clock>;
}

/**
 * The outside of an engine that records by position: a server that keeps journals, one root object that answers messages, and
 * a worker that can be killed at any point and is started again.
 */
export class World {
  readonly clock: Required<Clock>;
  readonly ports: ContextPorts;
  readonly headcount: Headcount | undefined;
  readonly decide: "retry" | "skip" | "fail" | "ask";
  readonly decisions = new Map<string, "retry" | "skip" | "fail">();
  readonly executions = new Map<ExecId, Execution>();
  readonly marks = new Map<string, number>();
  readonly inDoubt = new Set<string>();
  readonly replies = new Map<string, JsonValue>();
  readonly cancelled = new Map<ExecId, string | DeadlineExceededError>();
  readonly events: RunEvent[] = [];
  /** How many wait for something from outside. */
  waiting = 0;
  /** Counts the places where it may die; set `dieAt` to one of them. */
  places = 0;
  dieAt = 0;
  epoch = 1;
  private readonly ledger: Ledger | undefined;
  private readonly delivered = new Map<string, JsonValue[]>();
  private readonly known = new Set<string>();
  private readonly taken = new Map<string, JsonValue>();
  private readonly live = new Map<ExecId, PositionalEngine>();
  private readonly changed = new Set<() => void>();

  constructor(options: WorldOptions) {
    this.clock = options.clock;
    this.headcount = options.headcount;
    this.ledger = options.ledger;
    this.decide = options.decide ?? "retry";
    this.ports = { clock: this.clock, ids: systemIds, hooks: NO_HOOKS, ...options.ports };
  }

  async run(
    agent: Agent,
    input: string,
    root?: Supervision,
    attachments?: readonly Attachment[],
  ): Promise<HireOutcome | RaviError> {
    const supervision = root ?? Supervision.root(agent.id, { runId: "run", sessionId: "s" });
    const { runId, sessionId } = supervision;
    const execId = ExecId(runId);
    const deadline = null;
    const scope = { userId: null, tenantId: null, sessionId, runId, metadata: {} };
    const start = { agent, execId, supervision, input, attachments, scope, deadline } as const;
    this.open({ ...start, tenantId: null, onPreempt: "park", isResumed: false }, this.ledger);
    return this.whenDone(execId);
  }

  async whenDone(execId: ExecId): Promise<HireOutcome | RaviError> {
    const end = await this.until(() => this.of(execId).parked ?? this.of(execId).outcome);
    return typeof end === "string" ? this.whenOver(execId) : end;
  }

  /** The worker dies. Nobody goes on until `restart`. */
  kill(): void {
    this.epoch++;
    this.waiting = 0;
    this.live.clear();
  }

  restart(): void {
    for (const [execId, execution] of this.executions) {
      execution.parked = undefined;
      if (execution.outcome === undefined) this.work(execId);
    }
  }

  /** A message takes its time, and carries plain JSON. */
  async remote<T>(act: () => T): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    return act();
  }

  /** A place where the worker may die. Who was started by one that is dead goes no further. */
  async place(epoch: number): Promise<void> {
    if (epoch !== this.epoch) return new Promise(() => {});
    if (++this.places !== this.dieAt) return undefined;
    this.kill();
    setImmediate(() => this.restart());
    return new Promise(() => {});
  }

  open(start: ExecutionStart, ledger: Ledger | undefined): void {
    const { execId } = start;
    if (this.executions.has(execId)) return;
    this.executions.set(execId, {
      start,
      entries: [],
      ledger,
      children: [],
      mail: [],
      posted: new Set(),
      startedAt: this.clock.now(),
      attempts: 0,
      stopped: undefined,
      parked: undefined,
      outcome: undefined,
      used: NO_USAGE,
    });
    this.work(execId);
  }

  of(execId: ExecId): Execution {
    const execution = this.executions.get(execId);
    if (execution === undefined) throw new Error(`no execution ${execId}`);
    return execution;
  }

  cancel(execId: ExecId, reason: string | DeadlineExceededError): void {
    this.cancelled.set(execId, reason);
    this.live.get(execId)?.stop(reason);
    for (const child of this.of(execId).children) this.cancel(child, reason);
  }

  deliver(name: string, value: JsonValue, id?: string): void {
    if (id !== undefined && this.known.has(deliveryId(name, id))) return;
    if (id !== undefined) this.known.add(deliveryId(name, id));
    this.delivered.set(name, [...(this.delivered.get(name) ?? []), value]);
    this.notify();
  }

  post(execId: ExecId, message: InboxMessage): void {
    const { mail, posted } = this.of(execId);
    if (!posted.has(message.id)) mail.push(message);
    posted.add(message.id);
    this.notify();
  }

  /** The next value of that name for that waiter, who gets the same one when it asks again. */
  take(waiter: string, name: string): JsonValue | undefined {
    const known = this.taken.get(waiter);
    if (known !== undefined) return known;
    const value = this.delivered.get(name)?.shift();
    if (value !== undefined) this.taken.set(waiter, value);
    return value;
  }

  async whenOver(execId: ExecId): Promise<HireOutcome> {
    const text = await this.until(() => this.of(execId).outcome);
    return restoreOutcome(JSON.parse(text) as JsonObject);
  }

  async until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.changed.add(resolve);
      await promise;
    }
  }

  notify(): void {
    const waiting = [...this.changed];
    this.changed.clear();
    for (const wake of waiting) wake();
  }

  /** What an execution and all below it have used. */
  usedBelow(execId: ExecId): HireUsage {
    let usage = NO_USAGE;
    for (const [id, { used }] of this.executions) {
      if (id !== execId && !id.startsWith(`${execId}/`)) continue;
      usage = addUsage(usage, this.live.get(id)?.used.usage ?? used);
    }
    // Nobody here knows a price that a replay would know too.
    return { usage };
  }

  private work(execId: ExecId): void {
    const execution = this.of(execId);
    execution.attempts++;
    const engine = new PositionalEngine(this, execution);
    this.live.set(execId, engine);
    const { epoch } = this;
    const reason = this.cancelled.get(execId);
    if (reason !== undefined) engine.stop(reason);
    void createRunContext(engine, this.ports)
      .run()
      .catch((error: unknown): HireOutcome => {
        if (error !== engine.suspension || engine.suspension === undefined) throw error;
        return { status: "failed", error: engine.suspension };
      })
      .then(async (outcome) => {
        if (engine.suspension !== undefined) {
          execution.parked = engine.suspension;
          return this.notify();
        }
        await this.place(epoch);
        execution.used = engine.used.usage;
        execution.outcome = JSON.stringify(outcomeToJSON({ ...outcome, ...this.usedBelow(execId) }));
        // The watcher of the child's end gives its seat back, whoever waits for it.
        await this.headcount?.release(execution.start.supervision.agentId);
        this.live.delete(execId);
        this.notify();
      });
  }
}
