import {
  type Agent,
  type AgentEvent,
  type AgentId,
  agentName,
  type AbortSignalLike,
  type CancellationToken,
  type ChatMessage,
  DeadlineExceededError,
  type ExecId,
  type HireLeaf,
  type HireOutcome,
  type HookBase,
  type Hooks,
  isPromiseLike,
  type JsonValue,
  LaneViolationError,
  type Leaf,
  type Ledger,
  type LLMClient,
  type LlmLeaf,
  type LlmOutcome,
  type MaybePromise,
  type ModelRequest,
  type ModelResponse,
  type Outcome,
  type Remaining,
  type RunContext,
  type RunHandle,
  RunMeta,
  type RunScope,
  type Supervision,
  type Tool,
  type ToolCall,
  type ToolLeaf,
  type ToolOutcome,
  type ToolResult,
  type WindowOptions,
} from "@ravi/kernel";
import { Engine } from "../engine/engine.ts";
import type { Account } from "../tree/accounts.ts";
import { spendAhead } from "../tree/restore.ts";
import type { Tree } from "../tree/tree.ts";
import { bareBatch, bareModelCall, isBare, isPlain } from "./bare.ts";
import { runBatch } from "./batch.ts";
import type { Child } from "./child.ts";
import { ask, hire, join, spawn } from "./hires.ts";
import { callModel } from "./model-call.ts";
import { yieldIfPaused } from "./pause.ts";
import type { Plan } from "./plan.ts";
import { seededRandom, seededUuid } from "./seeded.ts";
import { callTool } from "./tool-call.ts";
import { sleepUntil, waitFor } from "./waits.ts";
import { Window } from "./window.ts";

export interface ExecutionOptions {
  readonly tree: Tree;
  readonly agent: Agent;
  readonly plan: Plan;
  readonly supervision: Supervision;
  readonly execId: ExecId;
  readonly token: CancellationToken;
  /** Epoch milliseconds. */
  readonly deadline: number | null;
  readonly ledger: Ledger | undefined;
  readonly onPreempt: "park" | "return";
}

const UNLIMITED: Remaining = Object.freeze({ tokens: null, cost: null, turns: null, toolCalls: null });

/** One agent at work: its context, with the rules in it. */
export class Execution implements RunContext {
  readonly tree: Tree;
  readonly agent: Agent;
  readonly plan: Plan;
  readonly supervision: Supervision;
  readonly execId: ExecId;
  readonly token: CancellationToken;
  readonly deadline: number | null;
  readonly ledger: Ledger | undefined;
  readonly onPreempt: "park" | "return";
  readonly engine: Engine;
  readonly account: Account;
  readonly children = new Map<ExecId, Child>();
  readonly history: Window;
  /** Counts the model calls: a tool call's key says which of them asked for it. */
  modelCalls = 0;
  toolCalls = 0;
  /** Model calls that were made inside of an effect. */
  nestedCalls = 0;
  /** Answers that were asked for, by gate: the same one is asked for once. */
  readonly gates = new Map<string, Promise<JsonValue>>();
  /** Set by a batch that wants to know when one of its calls waits for an answer. */
  onGateWait: (() => void) | undefined;
  /** How long it was parked without a seat, and since when it is. */
  parkedMs = 0;
  parkedSince: number | undefined;
  /** Every hire of this execution, whoever is hired. */
  hires = 0;
  checks = 0;
  private readonly bare: boolean;
  private counts: Map<string, number> | undefined;
  private running: string | undefined;
  private lazyMeta: RunMeta | undefined;

  constructor(options: ExecutionOptions) {
    const { tree, execId } = options;
    this.tree = tree;
    this.agent = options.agent;
    this.plan = options.plan;
    this.supervision = options.supervision;
    this.execId = execId;
    this.token = options.token;
    this.deadline = options.deadline;
    this.ledger = options.ledger;
    this.onPreempt = options.onPreempt;
    this.bare = isBare(this);
    this.account = tree.accounts.open(options.supervision.agentId, execId);
    this.history = new Window(this);
    this.engine = new Engine({
      execId,
      clock: tree.ports.clock,
      journal: tree.journal,
      recording: tree.recording?.of(execId),
      decisions: tree.decisions,
      suspend: (why) => {
        throw tree.suspend(why.message, why);
      },
      inDoubt: (key) => tree.inDoubt.add(`${execId}:${key}`),
      stopped: () => tree.suspension ?? this.token.error,
    });
  }

  get agentId(): AgentId {
    return this.supervision.agentId;
  }
  get hooks(): Hooks {
    return this.plan.hooks;
  }
  get scope(): RunScope {
    return this.tree.scope;
  }
  get signal(): AbortSignalLike {
    return this.token.signal;
  }
  get budget(): Remaining {
    const left = this.ledger?.remaining() ?? UNLIMITED;
    const { recording } = this.tree;
    if (recording === undefined || !this.engine.isCatchingUp) return left;
    // What is on record ahead was put back into the ledger already; when the agent asked, it was not spent yet.
    const ahead = spendAhead(recording, this.execId);
    const before = (amount: number | null, more: number): number | null =>
      amount === null ? null : amount + more;
    return {
      tokens: before(left.tokens, ahead.tokens),
      cost: before(left.cost, ahead.cost),
      turns: before(left.turns, ahead.turns),
      toolCalls: before(left.toolCalls, ahead.toolCalls),
    };
  }
  get meta(): RunMeta {
    const { tree } = this;
    return (this.lazyMeta ??= RunMeta.of({
      runId: tree.runId,
      execId: this.execId,
      cancellation: this.token,
      supervision: this.supervision,
      deadline: this.deadline,
      tenantId: tree.tenantId,
      clock: { now: () => this.engine.now() },
      ids: tree.ports.ids,
    }));
  }

  llm(
    model: LLMClient,
    request: ModelRequest,
    options?: { readonly wrapUp?: boolean | undefined },
  ): Promise<ModelResponse> {
    const leaf = { kind: "llm", model, request, wrapUp: options?.wrapUp } as const;
    if (this.bare && !this.tree.events.isWatched)
      return this.alone(model.id, () => bareModelCall(this, leaf));
    const key = this.nextKey("llm", model.id);
    return this.alone(key, () => callModel(this, key, leaf));
  }

  tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>> {
    const key = this.nextKey("tool", tool.name);
    return this.alone(key, () => callTool(this, key, call, tool) as Promise<ToolResult<R>>);
  }

  hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    return this.alone(`hire:${agentName(leaf.agent.id)}`, () => hire(this, leaf) as Promise<HireOutcome<T>>);
  }

  batch<T>(leaves: readonly HireLeaf<T>[]): Promise<HireOutcome<T>[]>;
  batch<R>(leaves: readonly ToolLeaf<R>[]): Promise<ToolOutcome<R>[]>;
  batch(leaves: readonly LlmLeaf[]): Promise<LlmOutcome[]>;
  batch(leaves: readonly (ToolLeaf | HireLeaf)[]): Promise<(ToolOutcome | HireOutcome)[]>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]> {
    if (this.bare && !this.tree.events.isWatched && leaves.every(isPlain)) {
      return this.alone("a batch", () => bareBatch(this, leaves));
    }
    return this.alone(`a batch of ${leaves.length}`, () => runBatch(this, leaves));
  }

  spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent">): Promise<RunHandle<T>> {
    return this.alone(
      `spawn:${agentName(agent.id)}`,
      () => spawn(this, { ...options, agent }) as Promise<RunHandle<T>>,
    );
  }

  join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    return this.alone(`join:${handle.agentId}`, () => join(this, handle) as Promise<HireOutcome<T>>);
  }

  ask(
    handle: RunHandle,
    message: JsonValue,
    options: { readonly timeoutS?: number | undefined } = {},
  ): Promise<JsonValue> {
    const key = this.nextKey("ask", handle.agentId);
    return this.alone(key, () => ask(this, key, handle, message, options.timeoutS));
  }

  waitFor(name: string): Promise<JsonValue> {
    const key = this.nextKey("wait", name);
    return this.alone(key, () => waitFor(this, key, name));
  }

  sleepUntil(time: number): Promise<void> {
    const key = this.nextKey("sleep", "until");
    return this.alone(key, () => sleepUntil(this, key, time));
  }

  window(options: WindowOptions = {}): MaybePromise<readonly ChatMessage[]> {
    return this.history.read(options);
  }

  remember(message: ChatMessage): void {
    this.history.add(message);
  }

  emit(event: AgentEvent): void {
    const { events, ports } = this.tree;
    if (!events.isWatched) return events.skip();
    events.publish({ at: ports.clock.now(), agentId: this.agentId, execId: this.execId, event });
  }

  now(): MaybePromise<number> {
    return this.engine.fact(this.nextKey("now", "clock"), () =>
      this.tree.ports.clock.now(),
    ) as MaybePromise<number>;
  }
  random(): number {
    return seededRandom(this.execId, this.count("random"));
  }
  uuid(): string {
    return seededUuid(this.execId, this.count("uuid"));
  }

  check(): MaybePromise<void> {
    const stopped = this.tree.suspension ?? this.token.error;
    if (stopped !== undefined) throw stopped;
    if (this.deadline !== null && this.engine.now() > this.deadline) {
      this.token.cancel(new DeadlineExceededError({ deadline: this.deadline }));
      this.token.check();
    }
    this.checks++;
    return this.tree.headcount === undefined ? undefined : yieldIfPaused(this, this.tree.headcount);
  }

  /** The execution of somebody whom this one hires. */
  descend(options: Omit<ExecutionOptions, "tree">): Execution {
    return new Execution({ ...options, tree: this.tree });
  }

  /** What every payload of a hook says. */
  hookBase(replayed: boolean): HookBase {
    const { agentId, execId, tree } = this;
    const { runId, sessionId } = this.supervision;
    const base = {
      agentName: agentName(agentId),
      agentId,
      runId,
      execId,
      sessionId,
      at: tree.ports.clock.now(),
    };
    return replayed ? { ...base, replayed } : base;
  }

  /** `kind:name#n`, where n counts in this execution. */
  nextKey(kind: string, name: string): string {
    const what = `${kind}:${name}`;
    return `${what}#${this.count(what)}`;
  }

  /** The key of a place that is taken once, unless a turn is done in several batches. */
  placeKey(place: string): string {
    const n = this.count(place);
    return n === 1 ? place : `${place}#${n}`;
  }

  /**
   * The one lane. Two operations at once would be recorded in the order in which they happen to end, and a replay would hand
   * them each other's results.
   */
  private async alone<T>(what: string, operation: () => Promise<T>): Promise<T> {
    if (this.running !== undefined) {
      throw new LaneViolationError({ execId: this.execId, running: this.running, attempted: what });
    }
    this.running = what;
    try {
      const paused = this.check();
      if (isPromiseLike(paused)) await paused;
      return await operation();
    } finally {
      this.running = undefined;
    }
  }

  private count(what: string): number {
    const counts = (this.counts ??= new Map<string, number>());
    const n = (counts.get(what) ?? 0) + 1;
    counts.set(what, n);
    return n;
  }
}
