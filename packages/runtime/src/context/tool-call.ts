import {
  agentName,
  type Effect,
  type EffectScope,
  errorToJSON,
  type FunctionContext,
  HookEvent,
  isPromiseLike,
  isRaviError,
  type JsonObject,
  type MaybePromise,
  NO_USAGE,
  type Tool,
  type ToolCall,
  type ToolContext,
  ToolError,
  type ToolLeaf,
  type ToolResult,
} from "@ravi/kernel";
import { messageOf, readArguments, toolFailure, toolFailureOf, toToolResult } from "@ravi/kernel/loop";
import { askApproval } from "./approval.ts";
import { attempt } from "./attempt.ts";
import { Bill } from "./bill.ts";
import type { Execution } from "./execution.ts";
import { digest } from "./fingerprint.ts";
import type { NamedGate } from "./gate.ts";
import { audit, endSpan, startSpan } from "./observe.ts";
import { admitOne } from "./one-call.ts";
import { denialOf } from "./permission.ts";
import type { Plan } from "./plan.ts";
import { andThen } from "./and-then.ts";
import { toldCall } from "./tell-call.ts";
import { withinTime } from "./tool-time.ts";

type Asked = Pick<ToolLeaf, "call" | "tool" | "onResult">;

/** One tool call of an agent. Bad arguments, a denial and a failing tool are results; only the rules throw. */
export function callTool(exec: Execution, key: string, leaf: Asked): MaybePromise<ToolResult> {
  const mayWait = exec.plan.function !== undefined || leaf.tool.needsApproval === true;
  const admit = (gate?: NamedGate): MaybePromise<PreparedToolCall> => prepareToolCall(exec, key, leaf, gate);
  const prepared = mayWait ? admitOne(exec, key, admit) : admit();
  return andThen(prepared, ({ refused, effect }) => refused ?? exec.engine.effect(effect));
}

export interface PreparedToolCall {
  readonly effect: Effect<ToolResult>;
  /** It is not made: the arguments do not fit, somebody denied it, or a layer answered in its `admit`. */
  readonly refused: ToolResult | undefined;
}

/** The gate is for layers and approvals; where there are none there need be no gate. */
export function prepareToolCall(
  exec: Execution,
  key: string,
  leaf: Asked,
  gate: NamedGate | undefined,
): MaybePromise<PreparedToolCall> {
  const effect = new RunningTool(exec, key, leaf);
  return andThen(effect.admit(gate), (refused) => ({ effect, refused }));
}

const ONE_CALL = Object.freeze({ usage: NO_USAGE, costUsd: 0, toolCalls: 1 });

class RunningTool implements Effect<ToolResult> {
  readonly kind = "tool";
  readonly key: string;
  readonly onDoubt: "retry" | "ask";
  private readonly exec: Execution;
  readonly call: ToolCall;
  readonly tool: Tool;
  /** Taken off when it was told. */
  private onResult: Asked["onResult"];
  private readonly bill = new Bill();
  private args: unknown;
  /** Its one tool call was reserved: a call that was refused costs nothing. */
  private isCounted = false;
  private context: FunctionContext | undefined;
  private modelCalls = 0;

  constructor(exec: Execution, key: string, { call, tool, onResult }: Asked) {
    this.onResult = onResult;
    this.exec = exec;
    this.key = key;
    this.call = call;
    this.tool = tool;
    this.onDoubt = tool.idempotent === true ? "retry" : "ask";
  }

  get what(): string {
    return `the call of ${this.tool.name}`;
  }

  /** Everything that can refuse before anything is begun. It is repeated on replay, so it decides from recorded facts. */
  admit(gate: NamedGate | undefined): MaybePromise<ToolResult | undefined> {
    const { exec, call, tool } = this;
    return andThen(readArguments(call, tool, exec.ports.validator), (parsed) => {
      if (!parsed.ok) return toolFailure(parsed.problem);
      this.args = parsed.value;
      return andThen(denialOf(exec, "tool", tool.name, call.arguments), (denied) =>
        denied === undefined ? this.throughGate(gate) : toolFailure(denied),
      );
    });
  }

  private throughGate(gate: NamedGate | undefined): MaybePromise<ToolResult | undefined> {
    if (gate === undefined) return undefined;
    const approve = (): MaybePromise<ToolResult | undefined> =>
      this.tool.needsApproval === true ? askApproval(this.exec, this, gate) : undefined;
    const layers = this.exec.plan.function;
    if (layers === undefined) return approve();
    const context = (this.context = this.makeContext());
    return andThen(layers.admit(context, gate), () => context.result ?? approve());
  }

  /** The model's own id is part of it: servers use `call_0` again and again, but not for another call at the same place. */
  fingerprint(): string {
    return digest(`${this.tool.name}\n${this.call.id}\n${this.call.arguments}`);
  }

  begin(): JsonObject {
    return { tool: this.tool.name, ...(this.onDoubt === "ask" && { ask: true }) };
  }

  async run(scope: EffectScope): Promise<ToolResult> {
    const { exec, tool } = this;
    const { clock } = exec.ports;
    const started = clock.now();
    if (exec.hooks.has(HookEvent.TOOL_START)) {
      void exec.hooks.dispatch(HookEvent.TOOL_START, { ...exec.hookBase(false), ...this.names() });
    }
    const span = startSpan(exec, "ravi.tool", { key: this.key, tool: tool.name });
    const end = (status: "ok" | "error", error?: unknown): void => {
      endSpan(exec, span, error);
      audit(exec, { action: "tool", target: tool.name, outcome: status, details: { key: this.key } });
      if (!exec.hooks.has(HookEvent.TOOL_END)) return;
      const durationMs = clock.now() - started;
      const failure = error === undefined ? {} : { error: errorToJSON(error) };
      void exec.hooks.dispatch(HookEvent.TOOL_END, {
        ...exec.hookBase(false),
        ...this.names(),
        status,
        durationMs,
        ...failure,
      });
    };
    try {
      const result = await this.paid(scope);
      end(result.isError ? "error" : "ok");
      this.tell(result);
      return result;
    } catch (error) {
      end("error", error);
      // An error of Ravi's goes on as it is; a stranger's gets a code to branch on.
      if (isRaviError(error)) throw error;
      throw new ToolError({ toolName: tool.name, message: messageOf(error), cause: error });
    }
  }

  record(result: ToolResult): JsonObject {
    const { content, isError } = result;
    return { content, isError, spend: { ...this.bill.toJSON(), toolCalls: 1 } };
  }

  restore(body: JsonObject): ToolResult {
    const content = body["content"] as ToolResult["content"];
    const result: ToolResult = { content, isError: body["isError"] === true };
    this.tell(result);
    return result;
  }

  /** A call that was refused costs nothing. */
  spend(): JsonObject | undefined {
    return this.isCounted ? { ...this.bill.toJSON(), toolCalls: 1 } : undefined;
  }

  skipped(): ToolResult {
    return toolFailure(
      `${this.tool.name} was in doubt after a crash, and it was decided not to call it again`,
    );
  }

  /** What is on record is told again, marked as such. */
  replayed(body: JsonObject): void {
    const { exec } = this;
    const base = { ...exec.hookBase(true), ...this.names() };
    if (exec.hooks.has(HookEvent.TOOL_START)) void exec.hooks.dispatch(HookEvent.TOOL_START, base);
    if (!exec.hooks.has(HookEvent.TOOL_END)) return;
    const status = body["error"] === undefined && body["isError"] !== true ? "ok" : "error";
    void exec.hooks.dispatch(HookEvent.TOOL_END, { ...base, status, durationMs: 0 });
  }

  /** Once: an engine may read back what it has just written. */
  private tell(result: ToolResult): void {
    const { onResult } = this;
    this.onResult = undefined;
    onResult?.(result);
  }

  private names(): { key: string; toolName: string; callId: string } {
    return { key: this.key, toolName: this.tool.name, callId: this.call.id };
  }

  private async paid(scope: EffectScope): Promise<ToolResult> {
    const reserved = scope.ledger?.reserve({ toolCalls: 1 });
    const reservation = isPromiseLike(reserved) ? await reserved : reserved;
    this.isCounted = true;
    const counted = scope.spent(ONE_CALL);
    if (isPromiseLike(counted)) await counted;
    try {
      return await this.throughLayers(scope);
    } finally {
      const settled = reservation?.settle({ toolCalls: 1 });
      if (isPromiseLike(settled)) await settled;
    }
  }

  private throughLayers(scope: EffectScope): Promise<ToolResult> {
    const { exec, context } = this;
    const layers = exec.plan.function;
    return layers === undefined || context === undefined
      ? this.execute(this.args, exec.signal, scope)
      : this.through(layers, context, scope);
  }

  private async through(
    layers: NonNullable<Plan["function"]>,
    context: FunctionContext,
    scope: EffectScope,
  ): Promise<ToolResult> {
    await layers.run(context, async () => {
      const { signal } = context;
      const result = await this.execute(context.arguments, signal, scope);
      // A layer gave up on this attempt: what comes late must not replace the answer of a newer one.
      signal.throwIfAborted();
      context.result = result;
    });
    return (
      context.result ?? toolFailure(`a layer around ${this.tool.name} neither called next() nor set a result`)
    );
  }

  private execute(args: unknown, signal: ToolContext["signal"], scope: EffectScope): Promise<ToolResult> {
    const { timeoutS } = this.tool;
    if (timeoutS === undefined) return this.invoke(args, signal, scope);
    const limit = { name: this.tool.name, timeoutS, clock: this.exec.ports.clock, signal };
    return withinTime(limit, (own) => this.invoke(args, own, scope));
  }

  private async invoke(
    args: unknown,
    signal: ToolContext["signal"],
    scope: EffectScope,
  ): Promise<ToolResult> {
    const { exec, tool, bill } = this;
    const idempotencyKey = `${scope.idempotencyKey}/llm`;
    const context: ToolContext = {
      signal,
      scope: exec.scope,
      idempotencyKey: scope.idempotencyKey,
      llm: (model, request) => {
        const own = new Bill(bill);
        const told = { key: `${this.key}/llm#${++this.modelCalls}`, model, request };
        const options = { model, request, signal, idempotencyKey, wrapUp: false, bill: own, scope } as const;
        return toldCall(exec, told, own, () =>
          attempt(exec, { ...options, sink: undefined, isNested: true }),
        );
      },
    };
    try {
      const value = tool.execute(args, context);
      return toToolResult(isPromiseLike(value) ? await value : value);
    } catch (error) {
      // A tool that was cut off has not failed: whether it did its work is not known.
      const { stopped } = exec;
      if (stopped !== undefined) throw stopped;
      return toolFailureOf(error);
    }
  }

  private makeContext(): FunctionContext {
    const { exec, tool, call } = this;
    return {
      agentName: agentName(exec.agentId),
      runId: exec.supervision.runId,
      meta: exec.meta,
      hooks: exec.hooks,
      clock: exec.ports.clock,
      signal: exec.signal,
      key: this.key,
      functionName: tool.name,
      callId: call.id,
      tool,
      arguments: this.args,
      result: undefined,
    };
  }
}
