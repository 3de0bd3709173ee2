import {
  type Agent,
  type AgentEvent,
  type AgentId,
  agentName,
  type AbortSignalLike,
  type BudgetExhaustedError,
  type CancellationToken,
  type ChatMessage,
  type ContextPorts,
  DeadlineExceededError,
  type DurableEngine,
  type ExecId,
  type HireLeaf,
  type HireOutcome,
  type HookBase,
  type Hooks,
  InvalidValueError,
  isRaviError,
  type JsonSchemaValidator,
  type JsonValue,
  type Leaf,
  type LLMClient,
  type LlmLeaf,
  type LlmOptions,
  type MaybePromise,
  type Memory,
  type ModelRequest,
  type ModelResponse,
  type Outcome,
  type OutcomesOf,
  type Remaining,
  type RunContext,
  type RunHandle,
  type RunId,
  type RunMeta,
  type RunScope,
  type Span,
  type StoppedBy,
  type Supervision,
  type Tally,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolLeaf,
  type ToolOutcome,
  type ToolResult,
  type WindowOptions,
} from "@ravi/kernel";
import {
  type AskOptions,
  checkEvent,
  engineRunMeta,
  type LinkedList,
  makeAtOnce,
  makeDirect,
  secondHireArgument,
  spawnTerms,
} from "@ravi/kernel/loop";
import { rejected } from "../promises/rejected.ts";
import { runExclusive, runExclusiveAtOnce } from "./exclusive.ts";
import { bareBatch, bareLlm, isBare, isPlain } from "./bare.ts";
import { runBatch } from "./batch.ts";
import { requestBudget } from "./budget-request.ts";
import { directLlm } from "./direct.ts";
import { Gates } from "./gate.ts";
import { ask, hire, join, spawn } from "./hires.ts";
import { Keys } from "./keys.ts";
import { Lane } from "./lane.ts";
import { agentProblem, checkLeaves, handleProblem, llmProblem, toolProblem } from "./leaf-check.ts";
import { callModel } from "./model-call.ts";
import type { Attempt } from "./money/attempt.ts";
import { yieldIfPaused } from "./pause.ts";
import type { Plan } from "./plan.ts";
import { recordFact } from "./record.ts";
import { Requests } from "./requests.ts";
import { seededRandom, seededUuid } from "./seeded.ts";
import { callTool } from "./tool-call.ts";
import type { ToolEffect } from "./tool-effect.ts";
import { waitNameProblem } from "./wait-name.ts";
import { Window } from "./window.ts";

/**
 * The context of one agent while it runs, with everything that the parts of an operation share. The operations themselves are in the
 * files beside this one: each enforces its rules here and leaves recording, hiring and waiting to the engine.
 */
export class Execution implements RunContext {
  readonly engine: DurableEngine;
  readonly ports: ContextPorts;
  readonly agent: Agent;
  readonly plan: Plan;
  readonly supervision: Supervision;
  readonly agentId: AgentId;
  /** The name of its definition: its id without the place in the tree. */
  readonly name: string;
  readonly execId: ExecId;
  readonly token: CancellationToken;
  readonly history: Window;
  /** Lets only one operation run at a time. */
  readonly lane: Lane;
  /** Present if calls may take the short way of `bare.ts`, because there is nothing to record, limit or tell. */
  readonly tally: Tally | undefined;
  /** Entries that the audit log has not confirmed yet. */
  audits: Set<Promise<void>> | undefined;
  /** Outcomes of hires that a layer has answered: they have no child, but can be joined. */
  answered: Map<ExecId, HireOutcome> | undefined;
  /** The span of the whole execution, if there is telemetry. */
  span: Span | undefined;
  /** See `draft`. */
  drafted: string | undefined;
  /** How many model calls it has made. The key of a tool call contains it, to say which of them asked for it. */
  modelCalls = 0;
  toolCalls = 0;
  /** `llm` of its tools, if they take the short way. Made with the first call. */
  toolLlm: ToolContext["llm"] | undefined;
  /** How many hires it has made, of any agent. */
  hires = 0;
  /** Attempts at model calls that were sent and are not charged yet. Made with the first one. */
  openAttempts: LinkedList<Attempt> | undefined;
  /** Tool calls whose reservation is not settled yet. Made with the first one. */
  openTools: LinkedList<ToolEffect> | undefined;
  /** How many calls wait for the limiter. */
  inLine = 0;
  /** The agent has ended. What it has left running may pay for nothing more. */
  isOver = false;
  /** The event of its end was emitted. */
  isEndEmitted = false;
  /** The limit that was the last to refuse a call, of this agent or of one that it hired. */
  stoppedBy: StoppedBy | undefined;
  private checks = 0;
  private randoms = 0;
  private uuids = 0;
  private lazyKeys: Keys | undefined;
  private lazyRequests: Requests | undefined;
  private lazyGates: Gates | undefined;
  private lazyMeta: RunMeta | undefined;

  constructor(engine: DurableEngine, ports: ContextPorts, plan: Plan) {
    const { agent, supervision, execId } = engine.start;
    this.engine = engine;
    this.ports = ports;
    this.plan = plan;
    this.agent = agent;
    this.supervision = supervision;
    this.agentId = supervision.agentId;
    this.name = agentName(supervision.agentId);
    this.execId = execId;
    this.token = engine.token;
    this.tally = isBare(this) ? engine.bare : undefined;
    this.history = new Window(this);
    this.lane = new Lane(this);
  }

  get hooks(): Hooks {
    return this.plan.hooks;
  }
  get runId(): RunId {
    return this.supervision.runId;
  }
  get scope(): RunScope {
    return this.engine.start.scope;
  }
  get signal(): AbortSignalLike {
    return this.token.signal;
  }
  get budget(): Remaining {
    return this.engine.remaining();
  }
  get memory(): Memory | undefined {
    return this.ports.memory;
  }
  get lendsSlot(): boolean {
    const { permissions } = this.ports;
    // Permissions that do not say whether they do something are asked.
    return permissions === undefined || permissions.isNoop === true;
  }
  get validator(): JsonSchemaValidator | undefined {
    return this.ports.validator;
  }
  get meta(): RunMeta {
    return (this.lazyMeta ??= this.makeMeta());
  }

  get keys(): Keys {
    return (this.lazyKeys ??= new Keys());
  }

  get requests(): Requests {
    return (this.lazyRequests ??= new Requests());
  }

  get gates(): Gates {
    return (this.lazyGates ??= new Gates(this));
  }

  /** Why no operation may start any more; undefined while it may. */
  get stopped(): Error | undefined {
    return this.engine.suspension ?? this.token.error;
  }

  llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse> {
    const problem = llmProblem("", model, request);
    if (problem !== undefined) return rejected(problem);
    const { tally } = this;
    if (tally !== undefined && !this.engine.isWatched) return bareLlm(this, tally, model, request);
    // An ordinary call has the same fields as one of `directLlm`, and no more.
    const wrapUp = options?.wrapUp;
    const leaf: LlmLeaf =
      options?.quiet === true || options?.retried === true
        ? { kind: "llm", model, request, wrapUp, quiet: options.quiet, retried: options.retried }
        : { kind: "llm", model, request, wrapUp };
    const key = this.nextKey("llm", model.id);
    return runExclusive(this, key, callModel, leaf);
  }

  tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>> {
    const problem = toolProblem("tool", call, tool);
    if (problem !== undefined) return rejected(problem);
    const key = this.nextKey("tool", tool.name);
    return runExclusive(this, key, () => callTool(this, { call, tool }, key) as Promise<ToolResult<R>>);
  }

  hire<T>(leaf: Omit<HireLeaf<T>, "kind">, more?: unknown): Promise<HireOutcome<T>> {
    const problem = secondHireArgument(more) ?? agentProblem("hire.agent", leaf?.agent);
    if (problem !== undefined) return rejected(problem);
    return runExclusive(
      this,
      `hire:${agentName(leaf.agent.id)}`,
      () => hire(this, leaf) as Promise<HireOutcome<T>>,
    );
  }

  batch<const L extends readonly Leaf[]>(leaves: L): Promise<OutcomesOf<L>>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]> {
    try {
      checkLeaves(leaves);
    } catch (error) {
      return rejected(error);
    }
    return runExclusive(this, nameOfBatch(leaves), this.batchFor(leaves), leaves);
  }

  /** Like `batch`, but makes no promise if the leaves make none, and may throw. For loops that do nothing else meanwhile. */
  batchAtOnce(leaves: readonly (ToolLeaf | HireLeaf)[]): MaybePromise<(ToolOutcome | HireOutcome)[]> {
    checkLeaves(leaves);
    const outcomes = runExclusiveAtOnce(this, nameOfBatch(leaves), this.batchFor(leaves), leaves);
    // There is no outcome of a model call, because there is no such leaf.
    return outcomes as MaybePromise<(ToolOutcome | HireOutcome)[]>;
  }

  private batchFor(leaves: readonly Leaf[]): typeof runBatch {
    const isBareBatch = this.tally !== undefined && !this.engine.isWatched && leaves.every(isPlain);
    return isBareBatch ? bareBatch : runBatch;
  }

  spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent">): Promise<RunHandle<T>> {
    const problem = agentProblem("spawn.agent", agent);
    if (problem !== undefined) return rejected(problem);
    return runExclusive(
      this,
      `spawn:${agentName(agent.id)}`,
      () => spawn(this, { ...spawnTerms(options), agent }) as Promise<RunHandle<T>>,
    );
  }

  join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    const problem = handleProblem("join.handle", handle);
    if (problem !== undefined) return rejected(problem);
    return runExclusive(this, `join:${handle.agentId}`, () => join(this, handle) as Promise<HireOutcome<T>>);
  }

  ask(handle: RunHandle, message: JsonValue, options: AskOptions = {}): Promise<JsonValue> {
    const problem = handleProblem("ask.handle", handle);
    if (problem !== undefined) return rejected(problem);
    const key = this.nextKey("ask", handle.agentId);
    return runExclusive(this, key, () => ask(this, key, handle, message, options));
  }

  waitFor(name: string): Promise<JsonValue> {
    const problem = waitNameProblem("waitFor", name);
    if (problem !== undefined) return rejected(problem);
    const key = this.nextKey("wait", name);
    return runExclusive(this, key, () => this.engine.wait({ kind: "wait", key, name }));
  }

  requestBudget(refusal: BudgetExhaustedError): Promise<boolean> {
    return runExclusive(this, `approval:budget:${this.execId}`, () => requestBudget(this, refusal));
  }

  sleepUntil(time: number): Promise<void> {
    const key = this.nextKey("sleep", "until");
    return runExclusive(this, key, async () => {
      if (!Number.isFinite(time)) {
        throw new InvalidValueError({
          field: "sleepUntil",
          value: time,
          expected: "a time in epoch milliseconds",
        });
      }
      await this.engine.sleep(key, time);
    });
  }

  window(options: WindowOptions = {}): MaybePromise<readonly ChatMessage[]> {
    return this.history.read(options);
  }

  remember(message: ChatMessage): void {
    this.history.add(message);
  }

  emit(event: AgentEvent): void {
    checkEvent(event);
    this.publish(event);
  }

  /**
   * Emits an event whose data is known to be JSON. After the event of the end nothing is emitted, even if somebody has kept the context.
   */
  publish(event: AgentEvent): void {
    if (!this.isEndEmitted) this.engine.publish(event);
  }

  draft(text: string): void {
    this.drafted = text;
  }

  record(name: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    return recordFact(this, name, make);
  }

  now(): MaybePromise<number> {
    const key = this.nextKey("now", "clock");
    return this.lane.within(
      key,
      () => this.engine.fact(key, () => this.ports.clock.now()) as MaybePromise<number>,
    );
  }
  random(): number {
    return seededRandom(this.execId, ++this.randoms);
  }
  uuid(): string {
    return seededUuid(this.execId, ++this.uuids);
  }

  check(): MaybePromise<void> {
    this.checkStopped();
    // A bare execution has no headcount that could pause it.
    return this.tally === undefined ? yieldIfPaused(this, ++this.checks) : undefined;
  }

  /** Throws if the run was stopped, or is out of time. */
  checkStopped(): void {
    const { stopped, engine } = this;
    if (stopped !== undefined) throw stopped;
    const { deadline } = engine.start;
    if (deadline !== null && engine.now() > deadline) {
      this.token.cancel(new DeadlineExceededError({ deadline }));
      this.token.check();
    }
  }

  /** Remembers the limit, if the error is the refusal of one. */
  noteRefusal(error: unknown): void {
    if (!isRaviError(error, "BUDGET_EXHAUSTED")) return;
    const { dimension, used, limit, scope, hint } = error;
    this.stoppedBy = { dimension, used, limit, scope, ...(hint !== undefined && { hint }) };
  }

  /** The fields that every payload of a hook has. */
  hookBase(replayed: boolean, at = this.ports.clock.now()): HookBase {
    const { name, agentId, execId } = this;
    const { runId, sessionId } = this.supervision;
    if (replayed) return { agentName: name, agentId, runId, execId, sessionId, at, replayed };
    return { agentName: name, agentId, runId, execId, sessionId, at };
  }

  nextKey(kind: string, name: string): string {
    return this.keys.next(kind, name);
  }

  private makeMeta(): RunMeta {
    const { supervision, execId, token, engine, ports } = this;
    const { deadline, tenantId } = engine.start;
    return engineRunMeta({
      runId: supervision.runId,
      execId,
      cancellation: token,
      supervision,
      deadline,
      tenantId,
      clock: engine,
      ids: ports.ids,
    });
  }
}

/** Only for errors, so no text is made for the usual batch of one. */
function nameOfBatch({ length }: readonly Leaf[]): string {
  return length === 1 ? "a batch of 1" : `a batch of ${length}`;
}

makeAtOnce(Execution.prototype, (exec, leaves) => exec.batchAtOnce(leaves));
makeDirect(Execution.prototype, directLlm);
