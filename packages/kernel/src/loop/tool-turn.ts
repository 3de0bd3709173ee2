import type { HireLeaf, HireOutcome, ToolResult } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import type { RaviError } from "../errors/base.ts";
import type { ModelResponse } from "../model/llm.ts";
import type { Attachment, ToolCall, ToolMessage } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { DelegateTool, Tool } from "../model/tool.ts";
import { isCutOff } from "./cut-off.ts";
import { rejected, Turn } from "./tool-loop/steps/turn.ts";

export interface ToolTurnOptions {
  /** How many calls may run at the same time. Default: all. */
  readonly concurrency?: number | undefined;
  /** Checks raw JSON Schemas of tools and hand-offs. Default: the context's. */
  readonly validator?: JsonSchemaValidator | undefined;
  /**
   * Called before a call is made. A text refuses it and is told to the model; a result is used instead of it. In both cases the
   * call is not made.
   */
  readonly before?: ((call: ToolCall) => string | ToolResult | undefined) | undefined;
  /** What delegates get that inherit the attachments of their parent. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Called when an agent is about to be hired. */
  readonly onHire?: ((call: ToolCall, leaf: HireLeaf) => void) | undefined;
  /** Returns what the model is told about each hire of a batch, in the order given. It may hire again. Default: `hireResult`. */
  readonly afterHires?: ((hires: readonly Hired[]) => MaybePromise<readonly ToolResult[]>) | undefined;
  /**
   * Called once for each result, as soon as it is there, so that it is known even if the turn is aborted. Not called for calls
   * that were cut off by the end of the run. Must not throw.
   */
  readonly onResult?: ((call: ToolCall, message: ToolMessage) => void) | undefined;
}

/** A hand-off and its outcome. */
export interface Hired {
  readonly call: ToolCall;
  readonly leaf: HireLeaf;
  readonly outcome: HireOutcome;
}

/** The results of one turn. */
export interface ToolTurn {
  /**
   * One for each call, in the order of the calls, whatever happened: a call without a result would make every later request fail.
   */
  readonly messages: readonly ToolMessage[];
  /** The error that ends the run (budget, cancellation, a guardrail); undefined if it may continue. */
  readonly stop: RaviError | undefined;
}

/** What a turn needs of a context. */
export type TurnContext = Pick<RunContext, "batch" | "validator"> & Partial<Pick<RunContext, "emit">>;

/** The tools that a model may call. */
export type Tools = readonly (Tool | DelegateTool)[];

const CUT_OFF =
  "your answer was cut off by its length limit, so none of its calls were run; try again with fewer or shorter calls";
const BROKEN_OFF = "your answer ended in the middle of its calls, so none of them were run; try again";
const NO_CALLS: readonly ToolCall[] = Object.freeze([]);
const NO_OPTIONS: ToolTurnOptions = Object.freeze({});

/** Makes all calls that a model asked for in one turn, tools and hand-offs, in batches through the context. */
export function toolTurn(
  ctx: TurnContext,
  response: ModelResponse,
  tools: Tools,
  options: ToolTurnOptions = NO_OPTIONS,
): Promise<ToolTurn> {
  return Promise.resolve(makeTurn(ctx, response, tools, options, false));
}

/**
 * Like `toolTurn`, for a loop that does nothing else meanwhile: returns a promise only if a part of it does. Never throws
 * synchronously; a failure is a rejected promise.
 */
export function turnAtOnce(
  ctx: TurnContext,
  response: ModelResponse,
  tools: Tools,
  options: ToolTurnOptions,
): MaybePromise<ToolTurn> {
  return makeTurn(ctx, response, tools, options, true);
}

function makeTurn(
  ctx: TurnContext,
  response: ModelResponse,
  tools: Tools,
  options: ToolTurnOptions,
  isAtOnce: boolean,
): MaybePromise<ToolTurn> {
  try {
    const turn = new Turn(ctx, response.message.toolCalls ?? NO_CALLS, options, isAtOnce);
    if (isCutOff(response)) return turn.refuseAll(response.finishReason === "length" ? CUT_OFF : BROKEN_OFF);
    const planned = turn.planFrom(0, tools);
    return isPromiseLike(planned) ? Promise.resolve(planned).then(() => turn.make()) : turn.make();
  } catch (error) {
    return rejected(error);
  }
}
