import {
  type AbortSignalLike,
  type CallOptions,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type Leaf,
  type LlmLeaf,
  type MaybePromise,
  type ModelResponse,
  NO_HOOKS,
  type Outcome,
  type ToolContext,
  ToolError,
  type ToolLeaf,
  type ToolOutcome,
  type ToolResult,
} from "@ravi/kernel";
import { messageOf, readArguments, toolFailure, toolFailureOf, toToolResult } from "@ravi/kernel/loop";
import { charge } from "../tree/accounts.ts";
import type { Execution } from "./execution.ts";
import { hire } from "./hires.ts";

// The short way of an execution that nothing was given to: no journal, no limit, no layer, no listener. What is left of the
// rules (one lane, cancellation) is kept by the execution itself. A turn of it costs a quarter of what the long way costs.

/** Whether nothing stands between this execution and its models and tools. */
export function isBare({ tree, plan, ledger }: Pick<Execution, "tree" | "plan" | "ledger">): boolean {
  const { meter, limiter, permissions } = tree.ports;
  const given = [tree.journal, tree.headcount, ledger, meter, limiter, permissions, plan.chat, plan.function];
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

  constructor(exec: Execution, what: string, number: number) {
    super(exec, what, number);
    this.owner = exec;
  }

  get scope(): ToolContext["scope"] {
    return this.owner.scope;
  }

  llm(...[model, request]: Parameters<ToolContext["llm"]>): Promise<ModelResponse> {
    return bareModelCall(this.owner, { kind: "llm", model, request });
  }
}

export async function bareModelCall(exec: Execution, { model, request }: LlmLeaf): Promise<ModelResponse> {
  exec.token.check();
  const response = await model.generate(request, new BareCall(exec, "llm", ++exec.modelCalls));
  if (response.usage !== undefined) charge(exec.account, response.usage, null);
  else exec.account.unpriced++;
  return response;
}

/** No promise where neither the schema nor the tool makes one. */
function bareToolCall({ call, tool }: ToolLeaf, exec: Execution): MaybePromise<ToolResult> {
  const parsed = readArguments(call, tool, exec.tree.ports.validator);
  const run = (done: Awaited<typeof parsed>): MaybePromise<ToolResult> => {
    if (!done.ok) return toolFailure(done.problem);
    try {
      const value = tool.execute(done.value, new BareTool(exec, "tool", ++exec.toolCalls));
      return isPromiseLike(value) ? value.then(toToolResult, toolFailureOf) : toToolResult(value);
    } catch (error) {
      return toolFailureOf(error);
    }
  };
  return isPromiseLike(parsed) ? parsed.then(run) : run(parsed);
}

export async function bareBatch(exec: Execution, leaves: readonly Leaf[]): Promise<Outcome[]> {
  const outcomes = leaves.map((leaf) => outcomeOf(exec, leaf));
  // A turn whose tools are all synchronous waits for nothing.
  for (const [at, outcome] of outcomes.entries()) if (isPromiseLike(outcome)) outcomes[at] = await outcome;
  return outcomes as Outcome[];
}

/** A tool with a time limit, or that needs approval, goes the long way. */
export function isPlain(leaf: Leaf): boolean {
  return leaf.kind !== "tool" || (leaf.tool.needsApproval !== true && leaf.tool.timeoutS === undefined);
}

function outcomeOf(exec: Execution, leaf: Leaf): MaybePromise<Outcome> {
  if (leaf.kind === "hire") return hire(exec, leaf).then(undefined, failed(exec));
  if (leaf.kind === "llm") {
    return bareModelCall(exec, leaf).then(
      (response): Outcome => ({ status: "completed", response }),
      failed(exec),
    );
  }
  try {
    const result = bareToolCall(leaf, exec);
    const completed = (done: ToolResult): ToolOutcome => ({ status: "completed", result: done });
    return isPromiseLike(result) ? result.then(completed, failed(exec)) : completed(result);
  } catch (error) {
    return failed(exec)(error);
  }
}

function failed(exec: Execution): (error: unknown) => ToolOutcome {
  return (error) => {
    const known = isRaviError(error)
      ? error
      : new ToolError({ toolName: exec.agentId, message: messageOf(error), cause: error });
    return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
  };
}
