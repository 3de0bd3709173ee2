import type { Agent } from "../../agent/agent.ts";
import type { AgentEvent, RunEvent } from "../../agent/events.ts";
import type { RunHandle } from "../../agent/handle.ts";
import type {
  HireLeaf,
  HireOutcome,
  HireUsage,
  Leaf,
  LlmOptions,
  Outcome,
  OutcomesOf,
  ToolResult,
} from "../../agent/leaves.ts";
import type { WindowOptions } from "../../agent/run-context.ts";
import { type RunScope, scopeForWorker } from "../../agent/scope.ts";
import type { Clock, IdSource } from "../../core/clock.ts";
import { type AgentId, agentName, ExecId, hiredId } from "../../core/ids.ts";
import type { JsonValue } from "../../core/json.ts";
import { checkMessage, checkPlainJson } from "../../core/plain-json.ts";
import { quietly } from "../../core/quietly.ts";
import { type AbortSignalLike, isPromiseLike, type MaybePromise } from "../../core/types.ts";
import { DeadlineExceededError, InvalidValueError, ToolError } from "../../errors/errors.ts";
import { isCancellation } from "../../errors/is.ts";
import { messageOf } from "../../errors/message-of.ts";
import type { LLMClient, ModelEvent, ModelRequest, ModelResponse } from "../../model/llm.ts";
import type { Attachment, ChatMessage, ToolCall } from "../../model/messages.ts";
import type { JsonSchemaValidator } from "../../model/schema.ts";
import type { Tool } from "../../model/tool.ts";
import { addUsage, NO_USAGE, type Usage } from "../../model/usage.ts";
import type { Supervision } from "../../policy/supervision.ts";
import type { Hooks } from "../../ports/hooks.ts";
import type { Remaining } from "../../ports/ledger.ts";
import { cancellationOf } from "../../run/cancellation.ts";
import type { RunMeta } from "../../run/run-meta.ts";
import { ownAttachments } from "../attachments.ts";
import { answerProblem } from "../answer.ts";
import { asRavi, type BareChild, refuseBudget, startChild } from "./bare-child.ts";
import type { BareContext } from "../bare-context.ts";
import { type BareInbox, bareInbox } from "../bare-inbox.ts";
import type { BareSignals } from "./bare-signals.ts";
import { type BareToolContext, callBareTool } from "./bare-tool.ts";
import { sleep, timeLimitOf, waitWithin } from "./bare-wait.ts";
import { bothHooks } from "../both-hooks.ts";
import { checkAgent } from "../check-agent.ts";
import { callProblem } from "../call-problem.ts";
import { checkEvent } from "../check-event.ts";
import { Conversation } from "../conversation.ts";
import { guardedHooks } from "../guarded-hooks.ts";
import {
  type AskOptions,
  askOptions,
  checkHireChoices,
  checkHireSpelling,
  secondHireArgument,
  spawnTerms,
} from "../hire-choices.ts";
import { observedEvent } from "../observed-event.ts";
import { readStream } from "../read-stream.ts";
import { answerDeltas } from "../answer-deltas.ts";
import { tellListener } from "../tell-listener.ts";
import { soundUsage } from "../sound-usage.ts";
import { readArguments, toolFailure, toolFailureOf, withTextArguments } from "../tool-call.ts";
import { toolProgress } from "../tool-progress.ts";

type Delta = Exclude<ModelEvent, { type: "finish" }>;

/** What all contexts of one tree share. */
export interface BareTree {
  /** Of the root. */
  readonly scope: RunScope;
  readonly hooks: Hooks;
  readonly validator: JsonSchemaValidator | undefined;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Who has it, since it is read again each time. */
  readonly listening: { readonly onEvent?: ((event: RunEvent) => void) | undefined };
  /** The number of the last event. */
  seq: number;
  readonly signals: BareSignals;
}

const UNLIMITED: Remaining = Object.freeze({ tokens: null, cost: null, turns: null, toolCalls: null });

const NOTHING_USED: HireUsage = Object.freeze({ usage: NO_USAGE, costUsd: 0 });

/** The context of one agent. A hired agent gets one of its own on the same tree. */
export class BareRun implements BareContext {
  readonly budget = UNLIMITED;
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly scope: RunScope;
  readonly hooks: Hooks;
  private readonly tree: BareTree;
  private readonly conversation = new Conversation();
  private readonly children = new Map<ExecId, BareChild>();
  /** Numbers the idempotency keys of model and tool calls. */
  private calls = 0;
  /** Of this agent, and of everyone below it that has ended. */
  private used: Usage = NO_USAGE;
  private modelCalls = 0;

  constructor(
    tree: BareTree,
    meta: RunMeta,
    supervision: Supervision,
    scope: RunScope,
    ownHooks: Hooks | undefined,
  ) {
    this.tree = tree;
    this.meta = meta;
    this.supervision = supervision;
    this.scope = scope;
    this.hooks = bothHooks(tree.hooks, ownHooks && guardedHooks(ownHooks));
  }

  get agentId(): AgentId {
    return this.supervision.agentId;
  }
  get execId(): ExecId {
    return this.meta.execId;
  }
  get validator(): JsonSchemaValidator | undefined {
    return this.tree.validator;
  }
  get signal(): AbortSignalLike {
    return this.meta.cancellation.signal;
  }

  inbox(input: string, attachments?: readonly Attachment[]): BareInbox {
    return bareInbox(input, {
      attachments,
      clock: this.tree.clock,
      ids: this.tree.ids,
      cancellation: this.meta.cancellation,
    });
  }

  llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse> {
    return this.callModel(model, request, options?.quiet !== true);
  }

  async tool<R>(
    call: ToolCall,
    tool: Tool<unknown, R>,
    validator = this.tree.validator,
  ): Promise<ToolResult<R>> {
    this.meta.check();
    const context: BareToolContext = {
      signal: this.signal,
      scope: this.scope,
      idempotencyKey: `${this.execId}:tool#${++this.calls}`,
      llm: (model, request, signal) => this.callModel(model, request, false, signal),
      progress: (name, data) => this.emit(toolProgress(call.id, name, data)),
    };
    try {
      const parsed = await readArguments(call, tool, validator);
      if (!parsed.ok) return toolFailure(parsed.problem);
      return await callBareTool(tool, parsed.value, context, this.tree.clock);
    } catch (error) {
      return toolFailureOf(error, () => this.meta.check());
    }
  }

  async hire<T>(leaf: Omit<HireLeaf<T>, "kind">, more?: unknown): Promise<HireOutcome<T>> {
    const problem = secondHireArgument(more);
    if (problem !== undefined) throw problem;
    checkAgent("hire.agent", leaf?.agent);
    checkHireSpelling(leaf);
    checkHireChoices("hire", leaf);
    const attachments = ownAttachments("hire.attachments", leaf.attachments);
    const delayMs = timeLimitOf("hire.timeoutS", leaf.timeoutS, this.tree.clock);
    let child: BareChild<T>;
    try {
      child = this.start(leaf, attachments);
    } catch (error) {
      const status = isCancellation(error) ? "cancelled" : "denied";
      return { status, error: asRavi(error, leaf.agent), ...NOTHING_USED };
    }
    if (delayMs === undefined) return child.outcome;
    const late = (): Error => new DeadlineExceededError({ deadline: this.now() });
    return waitWithin(child.outcome, this.meta.cancellation, {
      clock: this.tree.clock,
      delayMs,
      late,
    }).catch((error: unknown) => {
      if (leaf.onTimeout === "leave" && !this.meta.cancellation.isCancelled)
        return { status: "timedOut", handle: child.handle, ...child.used() };
      child.handle.cancel(messageOf(error));
      return { status: "cancelled", error: asRavi(error, leaf.agent), ...child.used() };
    });
  }

  batch<const L extends readonly Leaf[]>(leaves: L): Promise<OutcomesOf<L>>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]> {
    return Promise.all(leaves.map((leaf) => this.outcomeOf(leaf)));
  }

  async spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent">): Promise<RunHandle<T>> {
    checkAgent("spawn.agent", agent);
    const terms = spawnTerms(options);
    checkHireChoices("hire", terms);
    return this.start({ ...terms, agent }, ownAttachments("hire.attachments", terms.attachments)).handle;
  }

  async join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>> {
    return waitWithin(this.childOf(handle).outcome, this.meta.cancellation) as Promise<HireOutcome<T>>;
  }

  async ask(handle: RunHandle, message: JsonValue, options: AskOptions = {}): Promise<JsonValue> {
    const { inbox, outcome } = this.childOf(handle);
    const { timeoutS, attachments: given } = askOptions(options);
    const delayMs = timeLimitOf("ask.timeoutS", timeoutS, this.tree.clock);
    checkMessage("ask.message", message);
    const attachments = ownAttachments("ask.attachments", given);
    const late = (): Error =>
      new ToolError({
        toolName: handle.agentId,
        message: `${handle.agentId} did not reply within ${timeoutS} s`,
      });
    // A child that has ended will not reply.
    const ended = outcome.then((): never => {
      throw new ToolError({
        toolName: handle.agentId,
        message: `${handle.agentId} ended without a reply; ctx.join(handle) gives its outcome`,
      });
    });
    const reply = Promise.race([inbox.replyTo(inbox.send(this.agentId, message, attachments)), ended]);
    if (delayMs === undefined) return waitWithin(reply, this.meta.cancellation);
    return waitWithin(reply, this.meta.cancellation, { clock: this.tree.clock, delayMs, late });
  }

  async waitFor(name: string): Promise<JsonValue> {
    this.meta.check();
    const { value, leave } = this.tree.signals.next(name);
    // When it is cancelled it leaves the line at once, so that a later value goes to whoever waits next.
    const unlisten = this.meta.cancellation.onCancel(leave);
    return waitWithin(value, this.meta.cancellation).finally(unlisten);
  }

  deliver(name: string, value: JsonValue): void {
    checkMessage("deliver.value", value);
    this.tree.signals.deliver(name, value);
  }

  async sleepUntil(time: number): Promise<void> {
    if (!Number.isFinite(time)) {
      const expected = "a time in epoch milliseconds";
      throw new InvalidValueError({ field: "sleepUntil", value: time, expected });
    }
    return sleep(this.tree.clock, time - this.now(), this.meta.cancellation);
  }

  window(options?: WindowOptions): readonly ChatMessage[] {
    return this.conversation.window(options);
  }

  remember(message: ChatMessage): void {
    this.conversation.remember(message);
  }

  emit(event: AgentEvent): void {
    checkEvent(event);
    const { tree, agentId, execId } = this;
    const { onEvent } = tree.listening;
    if (onEvent === undefined) return;
    const told = { seq: ++tree.seq, at: this.now(), agentId, execId, event: observedEvent(event) };
    tellListener(onEvent, told, undefined);
  }

  record(name: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    const keep = (value: JsonValue): JsonValue => checkPlainJson(`record ${name}`, value);
    const made = make();
    return isPromiseLike(made) ? Promise.resolve(made).then(keep) : keep(made);
  }

  now(): number {
    return this.tree.clock.now();
  }
  random(): number {
    return this.tree.ids.random();
  }
  uuid(): string {
    return this.tree.ids.uuid();
  }
  check(): void {
    this.meta.check();
  }

  /** Observers are told the answer only if the agent says it: not what a tool asks, and not a quiet call. */
  private async callModel(
    model: LLMClient,
    request: ModelRequest,
    isTold: boolean,
    signal = this.signal,
  ): Promise<ModelResponse> {
    this.meta.check();
    if (signal.aborted) throw cancellationOf(signal);
    const refused = callProblem("", model, request);
    if (refused !== undefined) throw refused;
    const options = { signal, idempotencyKey: `${this.execId}:llm#${++this.calls}` };
    const shown = { hasText: false, hasThoughts: false };
    const tell = (event: Delta): void => {
      if (event.type === "text") shown.hasText ||= event.delta !== "";
      else if (event.type === "reasoning") shown.hasThoughts = true;
      this.emit(toAgentEvent(event));
    };
    const response =
      isTold && this.tree.listening.onEvent !== undefined && model.stream !== undefined
        ? await readStream(model.stream(request, options), tell)
        : await model.generate(request, options);
    this.modelCalls++;
    const usage = soundUsage(response?.usage);
    if (usage !== undefined) this.used = addUsage(this.used, usage);
    const problem = answerProblem(model, response);
    if (problem !== undefined) throw problem;
    if (isTold && this.tree.listening.onEvent !== undefined) answerDeltas(response, shown).forEach(tell);
    return withTextArguments(response);
  }

  private start<T>(
    leaf: Omit<HireLeaf<T>, "kind">,
    attachments: readonly Attachment[] | undefined,
  ): BareChild<T> {
    this.meta.check();
    refuseBudget("hire of ", leaf.agent.id, leaf.executionBudget);
    const number = this.children.size + 1;
    const execId = ExecId(this.execId, `hire:${agentName(leaf.agent.id)}#${number}`);
    const supervision = this.supervision.spawnChild({
      agentId: hiredId(this.agentId, leaf.agent.id, number),
      retention: leaf.retention,
      priority: leaf.priority,
      executionBudget: leaf.executionBudget,
    });
    const meta = this.meta.child({ execId, supervision });
    const scope = scopeForWorker(this.tree.scope, supervision.agentId);
    const ctx = new BareRun(this.tree, meta, supervision, scope, leaf.agent.hooks);
    const child = startChild(leaf.agent, ctx, ctx.inbox(leaf.input, attachments), {
      used: () => ctx.usedSoFar(),
      onEnd: () => {
        ctx.dismiss();
        this.used = addUsage(this.used, ctx.used);
        this.modelCalls += ctx.modelCalls;
      },
    });
    this.children.set(execId, child);
    return child;
  }

  /** Cancels the children that still run: nobody outlives its parent. */
  private dismiss(): void {
    for (const { handle } of this.children.values())
      if (handle.status === "running") quietly(() => handle.cancel(`its parent ${this.agentId} has ended`));
  }

  /** There is no meter here, so the price of a model call is not known. */
  private usedSoFar(): HireUsage {
    return { usage: this.used, costUsd: this.modelCalls === 0 ? 0 : null };
  }

  private childOf(handle: RunHandle): BareChild {
    const child = this.children.get(handle?.execId);
    if (child !== undefined) return child;
    throw new InvalidValueError({
      field: "handle",
      value: handle?.execId,
      expected: `a child of ${this.execId}`,
    });
  }

  private async outcomeOf(leaf: Leaf): Promise<Outcome> {
    try {
      if (leaf.kind === "hire") return await this.hire(leaf);
      if (leaf.kind === "llm")
        return { status: "completed", response: await this.llm(leaf.model, leaf.request, leaf) };
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

function toAgentEvent(event: Delta): AgentEvent {
  if (event.type !== "toolCall") return event;
  return { type: "toolArguments", index: event.index, name: event.name, delta: event.delta };
}
