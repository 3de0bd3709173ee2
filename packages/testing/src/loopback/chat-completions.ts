import type { FinishReason, JsonObject, Usage } from "@ravi/kernel";
import type { Delta } from "../answers/deltas.ts";
import type { Plan } from "../answers/plan.ts";
import { errorBody } from "./openai-error.ts";
import { refusalOfError } from "./refusal.ts";
import { DONE, frame } from "./sse.ts";
import type { Answered, Wire } from "./wire.ts";

export interface ChatCompletion extends Answered {
  readonly includeUsage: boolean;
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  toolCalls: "tool_calls",
  length: "length",
  // A refusal is reported in a field of its own, not by the finish reason.
  refused: "stop",
  filtered: "content_filter",
  other: "other",
};

/** Writes an answer in the format of Chat Completions. */
export function chatCompletions(completion: ChatCompletion): Wire {
  const { plan, includeUsage } = completion;
  const finishReason = FINISH_REASONS[plan.finishReason];
  const refused = plan.finishReason === "refused";
  const head = (object: string): JsonObject => ({
    id: completion.id,
    object,
    created: completion.created,
    model: completion.model,
  });
  const chunk = (delta: JsonObject, reason: string | null = null): string =>
    frame(
      JSON.stringify({
        ...head("chat.completion.chunk"),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }],
        ...(includeUsage ? { usage: null } : {}),
      }),
    );
  const usageChunk = (): string =>
    frame(JSON.stringify({ ...head("chat.completion.chunk"), choices: [], usage: usageOf(plan.usage) }));

  return {
    whole: () => ({
      ...head("chat.completion"),
      choices: [{ index: 0, message: messageOf(plan), logprobs: null, finish_reason: finishReason }],
      ...(plan.saysUsage ? { usage: usageOf(plan.usage) } : {}),
    }),
    opening: () => chunk({ role: "assistant", content: hasNoText(plan) ? null : "", refusal: null }),
    delta: (delta) => chunk(deltaOf(delta, refused)),
    closing: () => chunk({}, finishReason) + (includeUsage && plan.saysUsage ? usageChunk() : "") + DONE,
    failure: (error) => frame(JSON.stringify(errorBody(refusalOfError(error)))),
  };
}

/** With tool calls only, the content is null and not an empty text. */
function hasNoText(plan: Plan): boolean {
  return plan.text === "" && plan.toolCalls.length > 0;
}

function messageOf(plan: Plan): JsonObject {
  const refused = plan.finishReason === "refused";
  return {
    role: "assistant",
    content: refused || hasNoText(plan) ? null : plan.text,
    refusal: refused ? plan.text : null,
    ...(plan.reasoning === "" ? {} : { reasoning_content: plan.reasoning }),
    ...(plan.toolCalls.length === 0
      ? {}
      : {
          tool_calls: plan.toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: "function",
            function: { name, arguments: text },
          })),
        }),
  };
}

function deltaOf(delta: Delta, refused: boolean): JsonObject {
  if (delta.type === "text") return refused ? { refusal: delta.delta } : { content: delta.delta };
  if (delta.type === "reasoning") return { reasoning_content: delta.delta };
  const { index, id, name } = delta;
  const opening = id === undefined ? {} : { id, type: "function" };
  const named = name === undefined ? {} : { name };
  return { tool_calls: [{ index, ...opening, function: { ...named, arguments: delta.delta } }] };
}

function usageOf(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const input = {
    ...(cachedInputTokens === undefined ? {} : { cached_tokens: cachedInputTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cache_write_tokens: cacheWriteTokens }),
  };
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...(Object.keys(input).length === 0 ? {} : { prompt_tokens_details: input }),
    ...(reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}
