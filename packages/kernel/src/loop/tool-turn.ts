import type { HireLeaf, HireOutcome, ToolLeaf, ToolOutcome, ToolResult } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { MaybePromise } from "../core/types.ts";
import type { RaviError } from "../errors/base.ts";
import { isRaviError } from "../errors/is.ts";
import type { ModelResponse } from "../model/llm.ts";
import type { ToolCall, ToolMessage } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import { type DelegateTool, type Tool, isDelegate } from "../model/tool.ts";
import { hireResult } from "./hire-result.ts";
import { isStop, messageOf, readArguments, toolFailure } from "./tool-call.ts";

export interface ToolTurnOptions {
  /** How many calls may run at once. Default: all of them. */
  readonly concurrency?: number | undefined;
  /** Checks raw JSON Schemas of hand-offs. Default: the context's. */
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

type Planned = { readonly call: ToolCall; readonly leaf: ToolLeaf | HireLeaf };

/** Does all that a model asked for in one turn: tools and hand-offs, in batches, through the context. */
export async function toolTurn(
  ctx: TurnContext,
  response: ModelResponse,
  tools: readonly (Tool | DelegateTool)[],
  options: ToolTurnOptions = {},
): Promise<ToolTurn> {
  const calls = response.message.toolCalls ?? [];
  const { onResult } = options;
  if (response.finishReason === "length") {
    const why =
      "your answer was cut off by its length limit, so none of its calls were run; ask again with fewer or shorter calls";
    const messages = calls.map((call) => failure(call, why));
    for (const [at, call] of calls.entries()) if (messages[at] !== undefined) onResult?.(call, messages[at]);
    return { messages, stop: undefined };
  }
  const planned: Planned[] = [];
  /** For each call: where its leaf stands, or why there is none. */
  const places: (number | ToolMessage)[] = [];
  const tell = onResult && once(onResult);
  for (const call of calls) {
    const refused = options.before?.(call);
    const tool = tools.find((candidate) => candidate.name === call.name);
    // Only a hand-off has to be prepared; a tool's arguments are read where it is called.
    const leaf =
      refused !== undefined
        ? typeof refused === "string"
          ? failure(call, refused)
          : toMessage(call, refused)
        : tool === undefined
          ? unknownTool(call, tools)
          : isDelegate(tool)
            ? await hireFor(ctx, call, tool, options)
            : toolLeaf(call, tool, tell);
    places.push("kind" in leaf ? planned.push({ call, leaf }) - 1 : leaf);
    if (!("kind" in leaf)) tell?.(call, leaf);
  }

  const made: ToolMessage[] = [];
  const size = options.concurrency ?? planned.length;
  let stop: RaviError | undefined;
  for (let at = 0; at < planned.length && stop === undefined; at += size) {
    const part = size >= planned.length ? planned : planned.slice(at, at + size);
    let outcomes: readonly (ToolOutcome | HireOutcome)[];
    try {
      outcomes = await ctx.batch(part.map(({ leaf }) => leaf));
    } catch (error) {
      // What earlier batches gave is the turn's all the same. A run that is only suspended makes the rest later.
      if (!isStop(error) || isRaviError(error, "SUSPENDED")) throw error;
      stop = error as RaviError;
      break;
    }
    const told = part.some(({ leaf }) => leaf.kind === "hire")
      ? await tellHires(part, outcomes, options.afterHires)
      : undefined;
    for (const [index, outcome] of outcomes.entries()) {
      const { call, leaf } = part[index] ?? {};
      if (call === undefined || leaf === undefined) continue;
      const message = toMessage(call, told?.get(index) ?? toolResult(outcome as ToolOutcome));
      made.push(message);
      // A child's fate is the model's to deal with; a tool that met a rule of this run ends the run.
      const isStopped = leaf.kind === "tool" && "error" in outcome && isStop(outcome.error);
      if (isStopped) stop ??= outcome.error;
      else tell?.(call, message);
    }
  }
  const messages = calls.map((call, at) => {
    const place = places[at];
    if (typeof place === "object") return place;
    const message = place === undefined ? undefined : made[place];
    return message ?? failure(call, "not run: the run is ending");
  });
  return { messages, stop };
}

type Tell = NonNullable<ToolTurnOptions["onResult"]>;

/** A context that tells of a result early is not told after by the turn. */
function once(tell: Tell): Tell {
  const told = new Set<ToolCall>();
  return (call, message) => {
    if (told.has(call)) return;
    told.add(call);
    tell(call, message);
  };
}

function toolLeaf(call: ToolCall, tool: Tool, tell: Tell | undefined): ToolLeaf {
  if (tell === undefined) return { kind: "tool", call, tool };
  return { kind: "tool", call, tool, onResult: (result) => tell(call, toMessage(call, result)) };
}

function unknownTool(call: ToolCall, tools: readonly (Tool | DelegateTool)[]): ToolMessage {
  const known =
    tools.length === 0 ? "there are none" : `there are ${tools.map(({ name }) => name).join(", ")}`;
  return failure(call, `no tool is called ${JSON.stringify(call.name)}; ${known}`);
}

async function hireFor(
  ctx: TurnContext,
  call: ToolCall,
  tool: DelegateTool,
  options: ToolTurnOptions,
): Promise<HireLeaf | ToolMessage> {
  const parsed = await readArguments(call, tool, options.validator ?? ctx.validator);
  if (!parsed.ok) return failure(call, parsed.problem);
  let leaf: HireLeaf;
  try {
    leaf = tool.hire(parsed.value);
  } catch (error) {
    return failure(call, messageOf(error));
  }
  options.onHire?.(call, leaf);
  return leaf;
}

/** What is said of the hires of a batch, by their place in it. */
async function tellHires(
  part: readonly Planned[],
  outcomes: readonly (ToolOutcome | HireOutcome)[],
  afterHires: ToolTurnOptions["afterHires"],
): Promise<ReadonlyMap<number, ToolResult>> {
  const places: number[] = [];
  const hires: Hired[] = [];
  for (const [at, { call, leaf }] of part.entries()) {
    const outcome = outcomes[at];
    if (leaf.kind !== "hire" || outcome === undefined) continue;
    places.push(at);
    // Of a hire, because the outcomes of a batch come in the order of its leaves.
    hires.push({ call, leaf, outcome: outcome as HireOutcome });
  }
  const told = afterHires === undefined ? undefined : await afterHires(hires);
  return new Map(hires.map(({ outcome }, n) => [places[n] ?? -1, told?.[n] ?? hireResult(outcome)]));
}

function toolResult(outcome: ToolOutcome): ToolResult {
  return "error" in outcome ? toolFailure(outcome.error.message) : outcome.result;
}

function toMessage(call: ToolCall, { content, isError }: ToolResult): ToolMessage {
  const message = { role: "tool", toolCallId: call.id, name: call.name, content } as const;
  return isError ? { ...message, isError } : message;
}

function failure(call: ToolCall, problem: string): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content: `error: ${problem}`, isError: true };
}
