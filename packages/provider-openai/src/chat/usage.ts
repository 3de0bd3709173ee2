import type { Usage } from "@ravi/kernel";
import { countIn, field } from "@ravi/kernel/provider";

/**
 * The usage that the server reports; undefined if the counts are missing or not valid. A call without usage is charged what was
 * reserved for it, so a count that cannot be trusted must not be used.
 */
export function readUsage(value: unknown): Usage | undefined {
  const sent = countIn(field(value, "prompt_tokens"));
  const written = countIn(field(value, "completion_tokens"));
  if (sent === undefined || written === undefined) return undefined;
  const reasoningTokens = countIn(field(field(value, "completion_tokens_details"), "reasoning_tokens"));
  const details = field(value, "prompt_tokens_details");
  const found =
    countIn(field(details, "cached_tokens")) ??
    // DeepSeek, Moonshot.
    countIn(field(value, "prompt_cache_hit_tokens")) ??
    countIn(field(value, "cached_tokens"));
  // OpenRouter, LiteLLM.
  const kept =
    countIn(field(details, "cache_write_tokens")) ?? countIn(field(value, "cache_creation_input_tokens"));
  // Some servers count cached input, or reasoning, in addition to the other counts instead of as a part of them. Their total shows
  // it; not all of them report how much the reasoning was.
  const total = countIn(field(value, "total_tokens")) ?? 0;
  // Portkey counts what was found in a cache or written to it in the total only.
  const besides = (found ?? 0) + (kept ?? 0);
  const isInTotal = besides > 0 && total === sent + written + besides && besides !== reasoningTokens;
  // Nothing can be written to the cache that was not sent, so more than that is counted in addition, too.
  const isWrittenBeside = kept !== undefined && (isInTotal || kept > sent);
  const isBeside =
    found !== undefined &&
    (isInTotal || (found > sent && (isWrittenBeside || total >= sent + found + written)));
  const inputTokens = sent + (isBeside ? found : 0) + (isWrittenBeside ? kept : 0);
  const cached = Math.min(found ?? 0, inputTokens);
  const outputTokens = Math.max(written, total - inputTokens);
  return {
    inputTokens,
    outputTokens,
    ...(found === undefined ? {} : { cachedInputTokens: cached }),
    ...(kept === undefined ? {} : { cacheWriteTokens: Math.min(kept, inputTokens - cached) }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens: Math.min(reasoningTokens, outputTokens) }),
  };
}
