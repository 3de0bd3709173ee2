import type { FinishReason, JsonObject, Usage } from "@ravi/kernel";
import type { Delta } from "../answers/deltas.ts";
import { refusalOfError } from "./refusal.ts";
import { itemEvents, type OpenItem } from "./responses-items.ts";
import { digest, seal } from "./seal.ts";
import { namedFrame } from "./sse.ts";
import type { Answered, Wire } from "./wire.ts";

export interface ResponsesAnswer extends Answered {
  readonly sealsReasoning: boolean;
  /** The body of the request. An answer repeats its settings. */
  readonly asked: JsonObject;
}

/** Why an answer is incomplete. An answer with any other finish reason is complete. */
const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: "max_output_tokens",
  filtered: "content_filter",
  other: "other",
};

/** Writes an answer in the format of the Responses API. */
export function responsesWire(answer: ResponsesAnswer): Wire {
  const { plan, asked } = answer;
  const reason = INCOMPLETE[plan.finishReason];
  const items = itemsOf(answer);
  let number = 0;
  const event = (type: string, fields: JsonObject): string =>
    namedFrame(type, { type, sequence_number: number++, ...fields });
  const response = (status: string, output: readonly JsonObject[]): JsonObject => ({
    id: answer.id,
    object: "response",
    created_at: answer.created,
    status,
    error: null,
    incomplete_details: status === "incomplete" ? { reason: reason ?? null } : null,
    instructions: asked["instructions"] ?? null,
    metadata: asked["metadata"] ?? {},
    model: answer.model,
    output: [...output],
    parallel_tool_calls: asked["parallel_tool_calls"] ?? true,
    store: false,
    temperature: asked["temperature"] ?? 1,
    tool_choice: asked["tool_choice"] ?? "auto",
    tools: asked["tools"] ?? [],
    top_p: asked["top_p"] ?? 1,
    ...(status !== "in_progress" && plan.saysUsage ? { usage: usageOf(plan.usage) } : { usage: null }),
  });
  const ending = reason === undefined ? "completed" : "incomplete";
  const stream = itemEvents(event);
  let open: OpenItem | undefined;

  const turnTo = (at: number): string => {
    if (open?.at === at) return "";
    const item = items[at];
    const closed = closeOpen();
    if (item === undefined) return closed;
    open = { item, at };
    return closed + stream.open(open);
  };
  const closeOpen = (): string => {
    const closed = open === undefined ? "" : stream.close(open);
    open = undefined;
    return closed;
  };

  return {
    whole: () => response(ending, items),
    opening: () =>
      event("response.created", { response: response("in_progress", []) }) +
      event("response.in_progress", { response: response("in_progress", []) }),
    delta: (delta) => {
      const turned = turnTo(placeOf(delta, items));
      return turned + (open === undefined || delta.delta === "" ? "" : stream.delta(open, delta.delta));
    },
    closing: () => {
      // An answer without any text still has a message.
      const rest = open === undefined && items.length > 0 ? turnTo(items.length - 1) : "";
      return rest + closeOpen() + event(`response.${ending}`, { response: response(ending, items) });
    },
    failure: (error) => {
      const { message, code, param } = refusalOfError(error);
      return event("error", { code: code ?? null, message, param: param ?? null });
    },
  };
}

/** The index of the item that a delta belongs to. */
function placeOf(delta: Delta, items: readonly JsonObject[]): number {
  const type = delta.type === "text" ? "message" : delta.type === "reasoning" ? "reasoning" : "function_call";
  const first = items.findIndex((item) => item["type"] === type);
  return delta.type === "toolCall" ? first + delta.index : first;
}

function itemsOf({ plan, id, sealsReasoning }: ResponsesAnswer): readonly JsonObject[] {
  const isCut = plan.finishReason === "length";
  const hasMessage = plan.text !== "" || plan.toolCalls.length === 0;
  const content =
    plan.finishReason === "refused"
      ? { type: "refusal", refusal: plan.text }
      : { type: "output_text", text: plan.text, annotations: [], logprobs: [] };
  const reasoning = {
    id: `rs_${digest(plan.reasoning)}`,
    type: "reasoning",
    summary: [{ type: "summary_text", text: plan.reasoning }],
    ...(sealsReasoning ? { encrypted_content: seal(plan.reasoning) } : {}),
  };
  const status = (isLast: boolean): string => (isCut && isLast ? "incomplete" : "completed");
  return [
    ...(plan.reasoning === "" ? [] : [reasoning]),
    ...(hasMessage
      ? [
          {
            id: `msg_${id}`,
            type: "message",
            role: "assistant",
            status: status(plan.toolCalls.length === 0),
            content: [content],
          },
        ]
      : []),
    ...plan.toolCalls.map(({ id: callId, name, arguments: text }, at) => ({
      id: `fc_${id}_${at}`,
      type: "function_call",
      status: status(at === plan.toolCalls.length - 1),
      call_id: callId,
      name,
      arguments: text,
    })),
  ];
}

/** All counts are there, as with the real server: strict clients require them. */
function usageOf(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cachedInputTokens ?? 0,
      cache_write_tokens: cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
