import type { Usage } from "@ravi/kernel";
import { countIn, field } from "@ravi/kernel/provider";

/**
 * What the server says that the call used; undefined where that is no sensible number. It is money: a count that cannot be
 * trusted must not be settled, and what is not said is charged as it was reserved.
 */
export function readUsage(value: unknown): Usage | undefined {
  const inputTokens = countIn(field(value, "prompt_tokens"));
  const written = countIn(field(value, "completion_tokens"));
  if (inputTokens === undefined || written === undefined) return undefined;
  const reasoningTokens = countIn(field(field(value, "completion_tokens_details"), "reasoning_tokens"));
  const cachedInputTokens =
    countIn(field(field(value, "prompt_tokens_details"), "cached_tokens")) ??
    countIn(field(value, "prompt_cache_hit_tokens"));
  const total = countIn(field(value, "total_tokens"));
  // Some servers count the reasoning beside the output. Their total gives it away.
  const apart = reasoningTokens !== undefined && total === inputTokens + written + reasoningTokens;
  const outputTokens = apart ? written + reasoningTokens : written;
  return {
    inputTokens,
    outputTokens,
    ...(cachedInputTokens === undefined
      ? {}
      : { cachedInputTokens: Math.min(cachedInputTokens, inputTokens) }),
    ...(reasoningTokens === undefined ? {} : { reasoningTokens: Math.min(reasoningTokens, outputTokens) }),
  };
}
