import {
  checkFields,
  checkInteger,
  type FinishReason,
  InvalidValueError,
  type ModelRequest,
  type ToolCall,
  type Usage,
} from "@ravi/kernel";
import { checkText } from "@ravi/kernel/loop";
import type { Answer, AnswerFault, AnswerParts, ScriptedToolCall } from "./answer.ts";
import { describeRequest } from "./describe.ts";
import { checkFault } from "./fault.ts";
import { estimateInputTokens, estimateOutputTokens } from "./usage.ts";

/** An answer with all defaults filled in. The scripted model and each wire format are built from it. */
export interface Plan {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  /** Whether the answer reports its usage. It has one in either case, for the bill. */
  readonly saysUsage: boolean;
  readonly delayMs: number;
  readonly chunkDelayMs: number;
  readonly error: Error | undefined;
  readonly fault: AnswerFault | undefined;
  readonly id: string | undefined;
  readonly model: string | undefined;
}

const FIELDS = [
  "text",
  "reasoning",
  "toolCalls",
  "usage",
  "finishReason",
  "delayMs",
  "chunkDelayMs",
  "error",
  "fault",
  "id",
  "model",
] as const satisfies readonly (keyof AnswerParts)[];

const USAGE_FIELDS = [
  "inputTokens",
  "outputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "reasoningTokens",
] as const satisfies readonly (keyof Usage)[];

export const FINISH_REASONS = ["stop", "toolCalls", "length", "refused", "filtered", "other"] as const;

/** Checks an answer and fills in its defaults. Throws an `InvalidValueError` that names the wrong field. */
export function planAnswer(answer: Answer, request: ModelRequest): Plan {
  const parts = partsOf(answer, request);
  const { text: said = "", reasoning: thoughts = "" } = parts;
  const text = checkText("answer.text", said);
  const reasoning = checkText("answer.reasoning", thoughts);
  const toolCalls = planToolCalls(parts.toolCalls ?? []);
  return {
    text,
    reasoning,
    toolCalls,
    finishReason: checkFinishReason(parts.finishReason) ?? (toolCalls.length > 0 ? "toolCalls" : "stop"),
    usage: planUsage(parts.usage ?? {}, request, { text, reasoning, toolCalls }),
    saysUsage: parts.usage !== null,
    delayMs: checkDelay("answer.delayMs", parts.delayMs),
    chunkDelayMs: checkDelay("answer.chunkDelayMs", parts.chunkDelayMs),
    error: checkError(parts.error),
    fault: checkFault(parts.fault),
    id: parts.id,
    model: parts.model,
  };
}

function partsOf(answer: Answer | undefined, request: ModelRequest): AnswerParts {
  if (answer === undefined) {
    const expected = `an answer to this request, such as a string:\n${describeRequest(request)}`;
    throw new InvalidValueError({ field: "what the script gave", value: answer, expected });
  }
  if (typeof answer === "string") return { text: answer };
  if (answer instanceof Error) return { error: answer };
  return checkFields("answer", answer, FIELDS);
}

function planToolCalls(calls: readonly ScriptedToolCall[]): readonly ToolCall[] {
  if (Array.isArray(calls)) return calls.map(planToolCall);
  throw new InvalidValueError({ field: "answer.toolCalls", value: calls, expected: "a list of tool calls" });
}

function planToolCall(call: ScriptedToolCall, index: number): ToolCall {
  const field = `answer.toolCalls[${index}]`;
  checkFields(field, call, ["name", "arguments", "id"]);
  if (typeof call.name !== "string") {
    throw new InvalidValueError({ field: `${field}.name`, value: call.name, expected: "the name of a tool" });
  }
  const given = call.arguments ?? {};
  return {
    id: call.id ?? `call_${index}`,
    name: call.name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  };
}

function planUsage(
  given: Partial<Usage>,
  request: ModelRequest,
  answer: Parameters<typeof estimateOutputTokens>[0],
): Usage {
  for (const [name, count] of Object.entries(checkFields("answer.usage", given, USAGE_FIELDS))) {
    if (count !== undefined) checkInteger(`answer.usage.${name}`, count, 0);
  }
  return {
    ...given,
    inputTokens: given.inputTokens ?? estimateInputTokens(request),
    outputTokens: given.outputTokens ?? estimateOutputTokens(answer),
  };
}

function checkFinishReason(value: FinishReason | undefined): FinishReason | undefined {
  if (value === undefined || FINISH_REASONS.includes(value)) return value;
  const expected = `one of ${FINISH_REASONS.join(", ")}`;
  throw new InvalidValueError({ field: "answer.finishReason", value, expected });
}

function checkError(value: unknown): Error | undefined {
  if (value === undefined || value instanceof Error) return value;
  throw new InvalidValueError({ field: "answer.error", value, expected: "an Error" });
}

function checkDelay(field: string, value: number | undefined): number {
  if (value === undefined) return 0;
  if (Number.isFinite(value) && value >= 0) return value;
  const expected = 'a number of milliseconds, 0 or more (to never answer, use fault: { type: "hang" })';
  throw new InvalidValueError({ field, value, expected });
}
