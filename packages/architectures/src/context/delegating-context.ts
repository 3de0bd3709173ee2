import type {
  AbortSignalLike,
  Agent,
  AgentEvent,
  AgentId,
  BudgetExhaustedError,
  ChatMessage,
  ExecId,
  HireLeaf,
  HireOutcome,
  Hooks,
  JsonSchemaValidator,
  JsonValue,
  Leaf,
  LLMClient,
  LlmOptions,
  MaybePromise,
  Memory,
  ModelRequest,
  ModelResponse,
  Outcome,
  OutcomesOf,
  Remaining,
  RunContext,
  RunHandle,
  RunMeta,
  RunScope,
  Supervision,
  Tool,
  ToolCall,
  ToolResult,
  WindowOptions,
} from "@ravi/kernel";

/**
 * A context that passes everything on to another one, including the optional members. A subclass overrides what it must and cannot forget
 * the rest.
 */
export class DelegatingContext implements Required<RunContext> {
  protected readonly inner: RunContext;

  constructor(inner: RunContext) {
    this.inner = inner;
  }

  get agentId(): AgentId {
    return this.inner.agentId;
  }
  get execId(): ExecId {
    return this.inner.execId;
  }
  get meta(): RunMeta {
    return this.inner.meta;
  }
  get supervision(): Supervision {
    return this.inner.supervision;
  }
  get scope(): RunScope {
    return this.inner.scope;
  }
  get hooks(): Hooks {
    return this.inner.hooks;
  }
  get signal(): AbortSignalLike {
    return this.inner.signal;
  }
  get budget(): Remaining {
    return this.inner.budget;
  }
  get memory(): Memory | undefined {
    return this.inner.memory;
  }
  get lendsSlot(): boolean | undefined {
    return this.inner.lendsSlot;
  }
  get validator(): JsonSchemaValidator | undefined {
    return this.inner.validator;
  }

  llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse> {
    return this.inner.llm(model, request, options);
  }

  tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>> {
    return this.inner.tool(call, tool);
  }

  hire<T>(leaf: Omit<HireLeaf<T>, "kind">): Promise<HireOutcome<T>> {
    return this.inner.hire(leaf);
  }

  batch<const L extends readonly Leaf[]>(leaves: L): Promise<OutcomesOf<L>>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]> {
    return this.runLeaves(leaves);
  }

  spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent">): Promise<RunHandle<T>> {
    return this.inner.spawn(agent, options);
  }

  join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    return this.inner.join(handle);
  }

  ask(handle: RunHandle, message: JsonValue, options?: Parameters<RunContext["ask"]>[2]): Promise<JsonValue> {
    return this.inner.ask(handle, message, options);
  }

  waitFor(name: string): Promise<JsonValue> {
    return this.inner.waitFor(name);
  }

  sleepUntil(time: number): Promise<void> {
    return this.inner.sleepUntil(time);
  }

  window(options?: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    return this.inner.window(options);
  }

  remember(message: ChatMessage): MaybePromise<void> {
    return this.inner.remember(message);
  }

  /** False at once if the inner context cannot ask for more budget. */
  async requestBudget(refusal: BudgetExhaustedError): Promise<boolean> {
    return (await this.inner.requestBudget?.(refusal)) ?? false;
  }

  emit(event: AgentEvent): void {
    this.inner.emit(event);
  }

  draft(text: string): void {
    this.inner.draft?.(text);
  }

  record(name: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    return this.inner.record(name, make);
  }

  now(): MaybePromise<number> {
    return this.inner.now();
  }
  random(): MaybePromise<number> {
    return this.inner.random();
  }
  uuid(): MaybePromise<string> {
    return this.inner.uuid();
  }
  check(): MaybePromise<void> {
    return this.inner.check();
  }

  /** What `batch` does, without the types of the single leaves. */
  protected runLeaves(leaves: readonly Leaf[]): Promise<Outcome[]> {
    return this.inner.batch(leaves);
  }
}
