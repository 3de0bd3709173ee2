import type { HireLeaf, HireOutcome, ToolLeaf, ToolOutcome } from "../agent/leaves.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { RaviError } from "../errors/base.ts";
import type { ModelResponse } from "../model/llm.ts";
import type { ToolCall, ToolMessage } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import { type DelegateTool, type Tool, isDelegate } from "../model/tool.ts";
import { isStop, messageOf, readArguments } from "./tool-call.ts";

export interface ToolTurnOptions {
  /** How many calls may run at once. Default: all of them. */
  readonly concurrency?: number | undefined;
  readonly validator?: JsonSchemaValidator | undefined;
}

export interface ToolTurn {
  /** One for each call, in the order asked, whatever happened: a call without its result makes every later request fail. */
  readonly messages: readonly ToolMessage[];
  /** What ends the run (budget, cancellation, a guardrail); undefined when it may go on. */
  readonly stop: RaviError | undefined;
}

/** Does all that a model asked for in one turn: tools and hand-offs, in batches, through the context. */
export async function toolTurn(
  ctx: RunContext,
  response: ModelResponse,
  tools: readonly (Tool | DelegateTool)[],
  options: ToolTurnOptions = {},
): Promise<ToolTurn> {
  const calls = response.message.toolCalls ?? [];
  if (response.finishReason === "length") {
    const why =
      "your answer was cut off by its length limit, so none of its calls were run; ask again with fewer or shorter calls";
    return { messages: calls.map((call) => failure(call, why)), stop: undefined };
  }
  const leaves: (ToolLeaf | HireLeaf)[] = [];
  /** For each call: where its leaf stands, or why there is none. */
  const places: (number | ToolMessage)[] = [];
  for (const call of calls) {
    const tool = tools.find((candidate) => candidate.name === call.name);
    // Only a hand-off has to be prepared; a tool's arguments are read where it is called.
    const leaf =
      tool === undefined
        ? unknownTool(call, tools)
        : isDelegate(tool)
          ? await hireFor(call, tool, options.validator)
          : ({ kind: "tool", call, tool } as const);
    places.push("kind" in leaf ? leaves.push(leaf) - 1 : leaf);
  }

  const outcomes: (ToolOutcome | HireOutcome)[] = [];
  const size = options.concurrency ?? leaves.length;
  let stop: RaviError | undefined;
  for (let at = 0; at < leaves.length && stop === undefined; at += size) {
    for (const outcome of await ctx.batch(size >= leaves.length ? leaves : leaves.slice(at, at + size))) {
      const leaf = leaves[outcomes.push(outcome) - 1];
      // A child's fate is the model's to deal with; a tool that met a rule of this run ends the run.
      if (leaf?.kind === "tool" && "error" in outcome && isStop(outcome.error)) stop ??= outcome.error;
    }
  }
  const messages = calls.map((call, at) => {
    const place = places[at];
    if (typeof place === "object") return place;
    const outcome = place === undefined ? undefined : outcomes[place];
    return outcome === undefined ? failure(call, "not run: the run is ending") : toMessage(call, outcome);
  });
  return { messages, stop };
}

function unknownTool(call: ToolCall, tools: readonly (Tool | DelegateTool)[]): ToolMessage {
  const known =
    tools.length === 0 ? "there are none" : `there are ${tools.map(({ name }) => name).join(", ")}`;
  return failure(call, `no tool is called ${JSON.stringify(call.name)}; ${known}`);
}

async function hireFor(
  call: ToolCall,
  tool: DelegateTool,
  validator: JsonSchemaValidator | undefined,
): Promise<HireLeaf | ToolMessage> {
  const parsed = await readArguments(call, tool, validator);
  if (!parsed.ok) return failure(call, parsed.problem);
  try {
    return tool.hire(parsed.value);
  } catch (error) {
    return failure(call, messageOf(error));
  }
}

function toMessage(call: ToolCall, outcome: ToolOutcome | HireOutcome): ToolMessage {
  switch (outcome.status) {
    case "completed":
      return "content" in outcome.result
        ? { role: "tool", toolCallId: call.id, name: call.name, ...resultOf(outcome.result) }
        : { role: "tool", toolCallId: call.id, name: call.name, content: outcome.result.output };
    case "partial":
      return failure(call, `only a partial result (${outcome.result.stopReason}): ${outcome.result.output}`);
    case "paused":
      return failure(call, `paused for more urgent work, with this so far: ${outcome.result.output}`);
    case "timedOut":
      return failure(call, "no answer in time; it is still working");
    case "denied":
      return failure(call, `not hired: ${outcome.error.message}`);
    default:
      return failure(call, outcome.error.message);
  }
}

function resultOf(result: {
  readonly content: ToolMessage["content"];
  readonly isError: boolean;
}): Pick<ToolMessage, "content" | "isError"> {
  return result.isError ? { content: result.content, isError: true } : { content: result.content };
}

function failure(call: ToolCall, problem: string): ToolMessage {
  return { role: "tool", toolCallId: call.id, name: call.name, content: `error: ${problem}`, isError: true };
}
