import type { Agent } from "../agent/agent.ts";
import type { AgentEvent, RunEvent } from "../agent/events.ts";
import type { RunHandle } from "../agent/handle.ts";
import type {
  HireLeaf,
  HireOutcome,
  HireUsage,
  Leaf,
  LlmLeaf,
  LlmOutcome,
  Outcome,
  OutcomesOf,
  ToolLeaf,
  ToolOutcome,
  ToolResult,
} from "../agent/leaves.ts";
import type { RunContext, WindowOptions } from "../agent/run-context.ts";
import { type RunScope, scopeForWorker } from "../agent/scope.ts";
import { type Clock, type IdSource, systemClock, systemIds } from "../core/clock.ts";
import { AgentId, ExecId, agentName, hiredId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { checkMessage, checkPlainJson } from "../core/plain-json.ts";
import { type AbortSignalLike, isPromiseLike, type MaybePromise } from "../core/types.ts";
import { DeadlineExceededError, InvalidValueError, ToolError } from "../errors/errors.ts";
import { isCancellation } from "../errors/is.ts";
import type { LLMClient, ModelEvent, ModelRequest, ModelResponse } from "../model/llm.ts";
import type { ChatMessage, ToolCall } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { Tool, ToolContext } from "../model/tool.ts";
import { addUsage, NO_USAGE, type Usage } from "../model/usage.ts";
import { Supervision } from "../policy/supervision.ts";
import { type Hooks, NO_HOOKS } from "../ports/hooks.ts";
import type { Remaining } from "../ports/ledger.ts";
import { CancellationToken } from "../run/cancellation.ts";
import { RunMeta } from "../run/run-meta.ts";
import { answerProblem } from "./answer.ts";
import { asRavi, type BareChild, refuseLayers, startChild } from "./bare-child.ts";
import { type BareInbox, bareInbox } from "./bare-inbox.ts";
import { BareSignals } from "./bare-signals.ts";
import { callBareTool } from "./bare-tool.ts";
import { sleep, timeLimitOf, waitWithin } from "./bare-wait.ts";
import { bothHooks } from "./both-hooks.ts";
import { Conversation } from "./conversation.ts";
import { checkHireChoices } from "./hire-choices.ts";
import { ownMetadata } from "./own-metadata.ts";
import { readStream } from "./read-stream.ts";
import { soundUsage } from "./sound-usage.ts";
import { refuseSpawnTime } from "./spawn-time.ts";
import { messageOf, readArguments, toolFailure, toolFailureOf } from "./tool-call.ts";

export interface BareContextOptions {
  /**
   * The agent that will run in it. Its hooks are called. An agent with middleware is refused, because nothing here would run it.
   */
  readonly agent?: Agent | undefined;
  readonly agentId?: AgentId | undefined;
  readonly supervision?: Supervision | undefined;
  readonly signal?: AbortSignalLike | undefined;
  readonly userId?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly hooks?: Hooks | undefined;
  readonly validator?: JsonSchemaValidator | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  /** Gets every event of the tree. If it is set, models are streamed. It is read again at each event and model call. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

/**
 * A context without limits and without a journal: for a single agent, for tests, and for trying things out. Budgets and
 * headcounts, including an agent's own, have no effect in it.
 */
export interface BareContext extends RunContext {
  /** The inbox to run an agent with: `agent.run(ctx, ctx.inbox("the task"))`. */
  inbox(input: string): BareInbox;
  /** Answers a `waitFor`, even before it is called. */
  deliver(name: string, value: JsonValue): void;
  // Synchronous, because there is no journal to wait for.
  window(options?: WindowOptions): readonly ChatMessage[];
  remember(message: ChatMessage): void;
  now(): number;
  random(): number;
  uuid(): string;
  check(): void;
}

/**
 * Makes a context without limits and without a journal, for tests and for trying an agent out. It enforces no budget and no
 * headcount.
 */
export function bareContext(options: BareContextOptions = {}): BareContext {
  const { agent } = options;
  if (agent !== undefined) refuseLayers(agent);
  const supervision =
    options.supervision ??
    Supervision.root(options.agentId ?? agent?.id ?? AgentId("agent"), { ids: options.ids });
  const shared: Shared = {
    scope: Object.freeze({
      userId: options.userId ?? null,
      tenantId: options.tenantId ?? null,
      sessionId: supervision.sessionId,
      runId: supervision.runId,
      metadata: ownMetadata(options.metadata),
    }),
    hooks: options.hooks ?? NO_HOOKS,
    validator: options.validator,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
    get onEvent() {
      return options.onEvent;
    },
    seq: 0,
    signals: new BareSignals(),
  };
  const meta = RunMeta.of({
    supervision,
    cancellation: new CancellationToken(options.signal),
    tenantId: options.tenantId,
    clock: shared.clock,
    ids: shared.ids,
  });
  return new Bare(shared, meta, supervision, shared.scope, agent?.hooks);
}

/** What the whole tree shares. */
interface Shared {
  readonly scope: RunScope;
  readonly hooks: Hooks;
  readonly validator: JsonSchemaValidator | undefined;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly onEvent: ((event: RunEvent) => void) | undefined;
  seq: number;
  readonly signals: BareSignals;
}

const UNLIMITED: Remaining = Object.freeze({ tokens: null, cost: null, turns: null, toolCalls: null });

const NOTHING_USED: HireUsage = Object.freeze({ usage: NO_USAGE, costUsd: 0 });

class Bare implements BareContext {
  readonly budget = UNLIMITED;
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly scope: RunScope;
  readonly hooks: Hooks;
  private readonly shared: Shared;
  private readonly conversation = new Conversation();
  private readonly children = new Map<ExecId, BareChild>();
  private calls = 0;
  /** Of this agent, and of all agents below it that have ended. */
  private used: Usage = NO_USAGE;
  private modelCalls = 0;

  constructor(
    shared: Shared,
    meta: RunMeta,
    supervision: Supervision,
    scope: RunScope,
    ownHooks: Hooks | undefined,
  ) {
    this.shared = shared;
    this.meta = meta;
    this.supervision = supervision;
    this.scope = scope;
    this.hooks = bothHooks(shared.hooks, ownHooks);
  }

  get agentId(): AgentId {
    return this.supervision.agentId;
  }
  get execId(): ExecId {
    return this.meta.execId;
  }
  get validator(): JsonSchemaValidator | undefined {
    return this.shared.validator;
  }
  get signal(): AbortSignalLike {
    return this.meta.cancellation.signal;
  }

  inbox(input: string): BareInbox {
    return bareInbox(input, {
      clock: this.shared.clock,
      ids: this.shared.ids,
      cancellation: this.meta.cancellation,
    });
  }

  async llm(model: LLMClient, request: ModelRequest): Promise<ModelResponse> {
    this.meta.check();
    const options = { signal: this.signal, idempotencyKey: `${this.execId}:llm#${++this.calls}` };
    const response =
      this.shared.onEvent === undefined || model.stream === undefined
        ? await model.generate(request, options)
        : await readStream(model.stream(request, options), (event) => this.emit(toAgentEvent(event)));
    this.modelCalls++;
    const usage = soundUsage(response?.usage);
    if (usage !== undefined) this.used = addUsage(this.used, usage);
    const problem = answerProblem(model, response);
    if (problem !== undefined) throw problem;
    return response;
  }

  async tool<R>(
    call: ToolCall,
    tool: Tool<unknown, R>,
    validator = this.shared.validator,
  ): Promise<ToolResult<R>> {
    this.meta.check();
    const context: ToolContext = {
      signal: this.signal,
      scope: this.scope,
      idempotencyKey: `${this.execId}:tool#${++this.calls}`,
      llm: (model, request) => this.llm(model, request),
    };
    try {
      const parsed = await readArguments(call, tool, validator);
      if (!parsed.ok) return toolFailure(parsed.problem);
      return await callBareTool(tool, parsed.value, context, this.shared.clock);
    } catch (error) {
      return toolFailureOf(error);
    }
  }

  async hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    checkHireChoices("hire", leaf);
    const delayMs = timeLimitOf("hire.timeoutS", leaf.timeoutS, this.shared.clock);
    let child: BareChild<T>;
    try {
      child = this.start(leaf);
    } catch (error) {
      const status = isCancellation(error) ? "cancelled" : "denied";
      return { status, error: asRavi(error, leaf.agent), ...NOTHING_USED };
    }
    if (delayMs === undefined) return child.outcome;
    const late = (): Error => new DeadlineExceededError({ deadline: this.now() });
    return waitWithin(child.outcome, this.meta.cancellation, {
      clock: this.shared.clock,
      delayMs,
      late,
    }).catch((error: unknown) => {
      if (leaf.onTimeout === "leave" && !this.meta.cancellation.isCancelled)
        return { status: "timedOut", handle: child.handle, ...child.used() };
      child.handle.cancel(messageOf(error));
      return { status: "cancelled", error: asRavi(error, leaf.agent), ...child.used() };
    });
  }

  batch<T>(leaves: readonly HireLeaf<T>[]): Promise<HireOutcome<T>[]>;
  batch<R>(leaves: readonly ToolLeaf<R>[]): Promise<ToolOutcome<R>[]>;
  batch(leaves: readonly LlmLeaf[]): Promise<LlmOutcome[]>;
  batch<const L extends readonly [Leaf, ...Leaf[]]>(leaves: L): Promise<OutcomesOf<L>>;
  batch(leaves: readonly (ToolLeaf | HireLeaf)[]): Promise<(ToolOutcome | HireOutcome)[]>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]> {
    return Promise.all(leaves.map((leaf) => this.outcomeOf(leaf)));
  }

  async spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent">): Promise<RunHandle<T>> {
    refuseSpawnTime(options);
    checkHireChoices("hire", options);
    return this.start({ ...options, agent }).handle;
  }

  async join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    return waitWithin(this.childOf(handle).outcome, this.meta.cancellation) as Promise<HireOutcome<T>>;
  }

  async ask(
    handle: RunHandle,
    message: JsonValue,
    options: { timeoutS?: number | undefined } = {},
  ): Promise<JsonValue> {
    const { inbox, outcome } = this.childOf(handle);
    const delayMs = timeLimitOf("ask.timeoutS", options.timeoutS, this.shared.clock);
    checkMessage("ask.message", message);
    const late = (): Error =>
      new ToolError({ toolName: handle.agentId, message: `no reply from ${handle.agentId} in time` });
    // An agent that has ended will not reply any more.
    const over = outcome.then((): never => {
      throw new ToolError({
        toolName: handle.agentId,
        message: `${handle.agentId} has ended without a reply; join it for what came of it`,
      });
    });
    const reply = Promise.race([inbox.replyTo(inbox.send(this.agentId, message)), over]);
    if (delayMs === undefined) return waitWithin(reply, this.meta.cancellation);
    return waitWithin(reply, this.meta.cancellation, { clock: this.shared.clock, delayMs, late });
  }

  async waitFor(name: string): Promise<JsonValue> {
    this.meta.check();
    const { value, leave } = this.shared.signals.next(name);
    // Removed as soon as it is cancelled, so that the next value goes to the next waiter.
    const unlisten = this.meta.cancellation.onCancel(leave);
    return waitWithin(value, this.meta.cancellation).finally(unlisten);
  }

  deliver(name: string, value: JsonValue): void {
    checkMessage("deliver.value", value);
    this.shared.signals.deliver(name, value);
  }

  async sleepUntil(time: number): Promise<void> {
    return sleep(this.shared.clock, time - this.now(), this.meta.cancellation);
  }

  window(options?: WindowOptions): readonly ChatMessage[] {
    return this.conversation.window(options);
  }

  remember(message: ChatMessage): void {
    this.conversation.remember(message);
  }

  emit(event: AgentEvent): void {
    const { onEvent } = this.shared;
    onEvent?.({ seq: ++this.shared.seq, at: this.now(), agentId: this.agentId, execId: this.execId, event });
  }

  record(name: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    const keep = (value: JsonValue): JsonValue => checkPlainJson(`record ${name}`, value);
    const made = make();
    return isPromiseLike(made) ? Promise.resolve(made).then(keep) : keep(made);
  }

  now(): number {
    return this.shared.clock.now();
  }
  random(): number {
    return this.shared.ids.random();
  }
  uuid(): string {
    return this.shared.ids.uuid();
  }
  check(): void {
    this.meta.check();
  }

  private start<T>(leaf: Omit<HireLeaf<T>, "kind">): BareChild<T> {
    this.meta.check();
    const number = this.children.size + 1;
    const execId = ExecId(this.execId, `hire:${agentName(leaf.agent.id)}#${number}`);
    const supervision = this.supervision.spawnChild({
      agentId: hiredId(this.agentId, leaf.agent.id, number),
      retention: leaf.retention,
      priority: leaf.priority,
      executionBudget: leaf.executionBudget,
    });
    const meta = this.meta.child({ execId, supervision });
    const scope = scopeForWorker(this.shared.scope, supervision.agentId);
    const ctx = new Bare(this.shared, meta, supervision, scope, leaf.agent.hooks);
    const child = startChild(leaf.agent, ctx, ctx.inbox(leaf.input), {
      used: () => ctx.usedSoFar(),
      onEnd: () => {
        this.used = addUsage(this.used, ctx.used);
        this.modelCalls += ctx.modelCalls;
      },
    });
    this.children.set(execId, child);
    return child;
  }

  /** Prices are not known here, so the cost is null as soon as a model was called. */
  private usedSoFar(): HireUsage {
    return { usage: this.used, costUsd: this.modelCalls === 0 ? 0 : null };
  }

  private childOf(handle: RunHandle): BareChild {
    const child = this.children.get(handle.execId);
    if (child !== undefined) return child;
    throw new InvalidValueError({
      field: "handle",
      value: handle.execId,
      expected: `a child of ${this.execId}`,
    });
  }

  private async outcomeOf(leaf: Leaf): Promise<Outcome> {
    try {
      if (leaf.kind === "hire") return await this.hire(leaf);
      if (leaf.kind === "llm")
        return { status: "completed", response: await this.llm(leaf.model, leaf.request) };
      const result = await this.tool(leaf.call, leaf.tool, leaf.validator);
      leaf.onResult?.(result);
      return { status: "completed", result };
    } catch (error) {
      return {
        status: isCancellation(error) ? "cancelled" : "failed",
        error: asRavi(error, { id: this.agentId }),
      };
    }
  }
}

function toAgentEvent(event: Exclude<ModelEvent, { type: "finish" }>): AgentEvent {
  if (event.type !== "toolCall") return event;
  return { type: "toolArguments", index: event.index, name: event.name, delta: event.delta };
}
