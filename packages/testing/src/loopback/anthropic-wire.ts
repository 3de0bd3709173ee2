import type { FinishReason, JsonObject, Usage } from "@ravi/kernel";
import { tryParse } from "@ravi/kernel/provider";
import type { Delta } from "../answers/deltas.ts";
import type { Plan } from "../answers/plan.ts";
import { type Refusal, refusalOfError } from "./refusal.ts";
import { seal } from "./seal.ts";
import { namedFrame } from "./sse.ts";
import type { Answered, Wire } from "./wire.ts";

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: "end_turn",
  toolCalls: "tool_use",
  length: "max_tokens",
  refused: "refusal",
  filtered: "refusal",
  other: "other",
};

/** Writes an answer in the format of the Messages API. */
export function messagesWire({ id, model, plan }: Answered): Wire {
  const reason = STOP_REASONS[plan.finishReason];
  const usage = plan.saysUsage ? { usage: usageOf(plan.usage) } : {};
  const head = { id, type: "message", role: "assistant", model };
  const ending = { stop_reason: reason, stop_sequence: null };
  const blocks = blockEvents(plan);
  return {
    whole: () => ({ ...head, content: contentOf(plan), ...ending, ...usage }),
    opening() {
      const started = plan.saysUsage ? { usage: { ...usageOf(plan.usage), output_tokens: 1 } } : {};
      const message = { ...head, content: [], stop_reason: null, stop_sequence: null, ...started };
      return event("message_start", { message }) + event("ping", {});
    },
    delta: (delta) => blocks.add(delta),
    closing: () =>
      blocks.close() + event("message_delta", { delta: ending, ...usage }) + event("message_stop", {}),
    failure: (error) => event("error", messagesError(refusalOfError(error))),
  };
}

function event(type: string, fields: JsonObject): string {
  return namedFrame(type, { type, ...fields });
}

function contentOf(plan: Plan): readonly JsonObject[] {
  const { reasoning, text, toolCalls } = plan;
  return [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature: seal(reasoning) }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...toolCalls.map((call) => ({
      type: "tool_use",
      id: call.id,
      name: call.name,
      // Arguments that a script broke are sent as text. The real server cannot send such an answer unless it streams.
      input: (tryParse(call.arguments) as JsonObject | undefined) ?? call.arguments,
    })),
  ];
}

/** The events of the content: each block is started, filled and stopped before the next one. */
function blockEvents(plan: Plan): { add(delta: Delta): string; close(): string } {
  let open: string | undefined;
  let index = -1;
  const close = (): string => {
    if (open === undefined) return "";
    const signed = { index, delta: { type: "signature_delta", signature: seal(plan.reasoning) } };
    const last = open === "reasoning" ? event("content_block_delta", signed) : "";
    open = undefined;
    return last + event("content_block_stop", { index });
  };
  return {
    close,
    add(delta) {
      const key = delta.type === "toolCall" ? `toolCall ${delta.index}` : delta.type;
      let begun = "";
      if (key !== open) {
        begun = close();
        open = key;
        index++;
        begun += event("content_block_start", { index, content_block: blockHead(delta) });
      }
      return delta.delta === ""
        ? begun
        : begun + event("content_block_delta", { index, delta: pieceOf(delta) });
    },
  };
}

function blockHead(delta: Delta): JsonObject {
  switch (delta.type) {
    case "text":
      return { type: "text", text: "" };
    case "reasoning":
      return { type: "thinking", thinking: "", signature: "" };
    default:
      return { type: "tool_use", id: delta.id ?? "", name: delta.name ?? "", input: {} };
  }
}

function pieceOf(delta: Delta): JsonObject {
  switch (delta.type) {
    case "text":
      return { type: "text_delta", text: delta.delta };
    case "reasoning":
      return { type: "thinking_delta", thinking: delta.delta };
    default:
      return { type: "input_json_delta", partial_json: delta.delta };
  }
}

/** Anthropic's `input_tokens` excludes cached tokens; the kernel's `inputTokens` includes them. */
function usageOf(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens: found = 0, cacheWriteTokens: kept = 0 } = usage;
  const { cacheWrite1hTokens: hour } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - found - kept),
    cache_creation_input_tokens: kept,
    ...(hour === undefined
      ? {}
      : {
          cache_creation: {
            ephemeral_5m_input_tokens: Math.max(0, kept - hour),
            ephemeral_1h_input_tokens: hour,
          },
        }),
    cache_read_input_tokens: found,
    output_tokens: outputTokens,
    ...(usage.reasoningTokens === undefined
      ? {}
      : { output_tokens_details: { thinking_tokens: usage.reasoningTokens } }),
  };
}

const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "overloaded_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

/** The body of an error in Anthropic's format. */
export function messagesError({ status, message, code }: Refusal): JsonObject {
  const type = ERROR_TYPES.get(status) ?? (status >= 500 ? "api_error" : "invalid_request_error");
  const details = code === undefined ? {} : { details: { error_code: code } };
  return { type: "error", error: { type, message, ...details } };
}
