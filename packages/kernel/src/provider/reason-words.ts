import type { FinishReason } from "../model/llm.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  eos: "stop",
  eos_token: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  complete: "stop",
  tool_calls: "toolCalls",
  tool_call: "toolCalls",
  function_call: "toolCalls",
  tool_use: "toolCalls",
  length: "length",
  max_length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  max_completion_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "length",
  // The server stopped before the model did, so the answer may be incomplete.
  abort: "length",
  aborted: "length",
  cancelled: "length",
  timeout: "length",
  max_messages: "length",
  steered: "length",
  insufficient_system_resource: "length",
  content_filter: "filtered",
  content_filtered: "filtered",
  safety: "filtered",
  image_safety: "filtered",
  recitation: "filtered",
  prohibited_content: "filtered",
  blocklist: "filtered",
  spii: "filtered",
  sensitive: "filtered",
  guardrail_intervened: "filtered",
  refusal: "refused",
};

/**
 * The finish reason for a server's word; undefined if it is not known. Case, spaces and dashes do not matter, nor does anything
 * after a colon: `content_filter: PROHIBITED_CONTENT`.
 */
export function reasonMeantBy(word: string): FinishReason | undefined {
  const [first = ""] = word.split(":", 1);
  const plain = first.trim().toLowerCase().replaceAll(/[\s-]/g, "_");
  return Object.hasOwn(REASONS, plain) ? REASONS[plain] : undefined;
}
