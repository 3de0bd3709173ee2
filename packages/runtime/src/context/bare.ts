import {
  type AbortSignalLike,
  type CallOptions,
  isPromiseLike,
  type Leaf,
  type LLMClient,
  type LlmLeaf,
  type MaybePromise,
  type ModelRequest,
  type ModelResponse,
  NO_HOOKS,
  type Outcome,
  type Tally,
  type ToolContext,
  type ToolLeaf,
  type ToolOutcome,
  type ToolResult,
} from "@ravi/kernel";
import { readArguments, toolFailure, toolFailureOf, toToolResult } from "@ravi/kernel/loop";
import { promised, rejected } from "../rejected.ts";
import { failureOf } from "./batch.ts";
import type { Execution } from "./execution.ts";
import { hire } from "./hires.ts";
import { soundUsage } from "./sound-usage.ts";

// The short way of an execution that nothing was given to: no journal, no limit, no layer, no listener. What is left of the
// rules (one lane, cancellation) is kept by the execution itself. A turn of it costs a quarter of what the long way costs.

/** Whether nothing stands between this execution and its models and tools. */
export function isBare({ ports, plan }: Pick<Execution, "ports" | "plan">): boolean {
  const { meter, limiter, permissions, telemetry, auditLog } = ports;
  const given = [meter, limiter, plan.chat, plan.function];
  const services = [permissions, telemetry, auditLog];
  if (services.some((service) => service !== undefined && !service.isNoop)) return false;
  return plan.hooks === NO_HOOKS && given.every((port) => port === undefined);
}

/** What a call gets beside its request. Signals and keys are made only for those who look at them. */
class BareCall implements CallOptions {
  private readonly exec: Execution;
  private readonly what: string;
  private readonly number: number;

  constructor(exec: Execution, what: string, number: number) {
    this.exec = exec;
    this.what = what;
    this.number = number;
  }

  get signal(): AbortSignalLike {
    return this.exec.signal;
  }

  get idempotencyKey(): string {
    return `${this.exec.execId}:${this.what}#${this.number}`;
  }
}

class BareTool extends BareCall implements ToolContext {
  private readonly owner: Execution;
  private readonly tally: Tally;

  constructor(exec: Execution, tally: Tally, number: number) {
    super(exec, "tool", number);
    this.owner = exec;
    this.tally = tally;
  }

  get scope(): ToolContext["scope"] {
    return this.owner.scope;
  }

  /** A function of its own, so that it may be taken from the context. */
  get llm(): ToolContext["llm"] {
    return (model, request) => bareModelCall(this.owner, this.tally, { model, request });
  }
}

/** A model call of the agent's own, in its lane: one promise beside the provider's. */
export function bareLlm(
  exec: Execution,
  tally: Tally,
  model: LLMClient,
  request: ModelRequest,
): Promise<ModelResponse> {
  try {
    exec.lane.enter(model.id);
  } catch (error) {
    return rejected(error);
  }
  return promised(() => {
    exec.checkBare();
    return model.generate(request, new BareCall(exec, "llm", ++exec.modelCalls));
  }).then(
    (response) => {
      exec.lane.leave();
      tally.model(response.usage);
      return response;
    },
    (error: unknown) => {
      exec.lane.leave();
      throw error;
    },
  );
}

async function bareModelCall(
  exec: Execution,
  tally: Tally,
  { model, request }: Pick<LlmLeaf, "model" | "request">,
): Promise<ModelResponse> {
  exec.token.check();
  const response = await model.generate(request, new BareCall(exec, "llm", ++exec.modelCalls));
  tally.model(soundUsage(response.usage));
  return response;
}

/** No promise where neither the schema nor the tool makes one. */
function bareToolCall(exec: Execution, tally: Tally, { call, tool }: ToolLeaf): MaybePromise<ToolResult> {
  const parsed = readArguments(call, tool, exec.ports.validator);
  const run = (done: Awaited<typeof parsed>): MaybePromise<ToolResult> => {
    if (!done.ok) return toolFailure(done.problem);
    try {
      tally.tool();
      const value = tool.execute(done.value, new BareTool(exec, tally, ++exec.toolCalls));
      if (!isPromiseLike(value)) return toToolResult(value);
      return Promise.resolve(value).then(toToolResult, toolFailureOf);
    } catch (error) {
      return toolFailureOf(error);
    }
  };
  if (!isPromiseLike(parsed)) return run(parsed);
  return parsed.then((done) => {
    // Reading them may have taken a while.
    exec.token.check();
    return run(done);
  });
}

/** No promise where every tool of it answers at once. */
export function bareBatch(exec: Execution, tally: Tally, leaves: readonly Leaf[]): MaybePromise<Outcome[]> {
  const outcomes: MaybePromise<Outcome>[] = [];
  let isWaiting = false;
  for (const leaf of leaves) {
    const outcome = outcomeOf(exec, tally, leaf);
    isWaiting ||= isPromiseLike(outcome);
    outcomes.push(outcome);
  }
  return isWaiting ? whenAll(outcomes) : (outcomes as Outcome[]);
}

/** None of them rejects: a failure is an outcome. */
async function whenAll(outcomes: readonly MaybePromise<Outcome>[]): Promise<Outcome[]> {
  const done: Outcome[] = [];
  for (const outcome of outcomes) done.push(isPromiseLike(outcome) ? await outcome : outcome);
  return done;
}

/** A tool with a time limit, or that needs approval, goes the long way. */
export function isPlain(leaf: Leaf): boolean {
  return leaf.kind !== "tool" || (leaf.tool.needsApproval !== true && leaf.tool.timeoutS === undefined);
}

function outcomeOf(exec: Execution, tally: Tally, leaf: Leaf): MaybePromise<Outcome> {
  if (leaf.kind === "tool") return toolOutcomeOf(exec, tally, leaf);
  const failed = (error: unknown): Outcome => failureOf(exec, error);
  if (leaf.kind === "hire") return hire(exec, leaf).then(undefined, failed);
  return bareModelCall(exec, tally, leaf).then(
    (response): Outcome => ({ status: "completed", response }),
    failed,
  );
}

function toolOutcomeOf(exec: Execution, tally: Tally, leaf: ToolLeaf): MaybePromise<Outcome> {
  try {
    const result = bareToolCall(exec, tally, leaf);
    if (!isPromiseLike(result)) return completed(leaf, result);
    return result.then(
      (done) => completed(leaf, done),
      (error: unknown): Outcome => failureOf(exec, error),
    );
  } catch (error) {
    return failureOf(exec, error);
  }
}

function completed({ onResult }: ToolLeaf, result: ToolResult): ToolOutcome {
  onResult?.(result);
  return { status: "completed", result };
}
