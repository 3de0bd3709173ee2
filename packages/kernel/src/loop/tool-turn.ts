import type { HireLeaf, HireOutcome, ToolResult } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import { isPromiseLike, type MaybePromise } from "../core/types.ts";
import type { RaviError } from "../errors/base.ts";
import type { ModelResponse } from "../model/llm.ts";
import type { ToolCall, ToolMessage } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { DelegateTool, Tool } from "../model/tool.ts";
import { isCutOff } from "./cut-off.ts";
import { rejected, Turn } from "./turn.ts";

export interface ToolTurnOptions {
  /** How many calls may run at once. Default: all of them. */
  readonly concurrency?: number | undefined;
  /** Checks raw JSON Schemas of tools and hand-offs. Default: the context's. */
  readonly validator?: JsonSchemaValidator | undefined;
  /** A text refuses the call, and is told to the model; a result stands for it. Either way it is not made. */
  readonly before?: ((call: ToolCall) => string | ToolResult | undefined) | undefined;
  /** Somebody is about to be hired. */
  readonly onHire?: ((call: ToolCall, leaf: HireLeaf) => void) | undefined;
  /** What the model is told of each hire of a batch, in the order given. Default: `hireResult`. It may hire again. */
  readonly afterHires?: ((hires: readonly Hired[]) => MaybePromise<readonly ToolResult[]>) | undefined;
  /**
   * Told of each result once, as soon as it is there: whoever is aborted in the middle has what was done. Not told of calls
   * that the end of the run has cut off. Must not throw.
   */
  readonly onResult?: ((call: ToolCall, message: ToolMessage) => void) | undefined;
}

/** A hand-off that was made. */
export interface Hired {
  readonly call: ToolCall;
  readonly leaf: HireLeaf;
  readonly outcome: HireOutcome;
}

export interface ToolTurn {
  /** One for each call, in the order asked, whatever happened: a call without its result makes every later request fail. */
  readonly messages: readonly ToolMessage[];
  /** What ends the run (budget, cancellation, a guardrail); undefined when it may go on. */
  readonly stop: RaviError | undefined;
}

/** All that a turn needs of a context. */
export type TurnContext = Pick<RunContext, "batch" | "validator">;

/** What a model may ask for. */
export type Tools = readonly (Tool | DelegateTool)[];

const CUT_OFF =
  "your answer was cut off by its length limit, so none of its calls were run; ask again with fewer or shorter calls";
const BROKEN_OFF = "your answer broke off inside its calls, so none of them were run; ask again";
const NO_CALLS: readonly ToolCall[] = Object.freeze([]);
const NO_OPTIONS: ToolTurnOptions = Object.freeze({});

/** Does all that a model asked for in one turn: tools and hand-offs, in batches, through the context. */
export function toolTurn(
  ctx: TurnContext,
  response: ModelResponse,
  tools: Tools,
  options: ToolTurnOptions = NO_OPTIONS,
): Promise<ToolTurn> {
  return Promise.resolve(makeTurn(ctx, response, tools, options, false));
}

/**
 * The same for a loop, which does nothing else meanwhile: no promise where nothing of it makes one. Never throws: a failure is a
 * promise too.
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
