import type { Usage } from "@ravi/kernel";
import { countIn, field } from "@ravi/kernel/provider";

/** The usage that the server reports; undefined if the counts are missing or not valid: then the reservation is charged. */
export function readUsage(value: unknown): Usage | undefined {
  const inputTokens = countIn(field(value, "input_tokens"));
  const written = countIn(field(value, "output_tokens"));
  if (inputTokens === undefined || written === undefined) return undefined;
  // Some servers count the reasoning in addition to the output. Their total shows it.
  const outputTokens = Math.max(written, (countIn(field(value, "total_tokens")) ?? 0) - inputTokens);
  const details = field(value, "input_tokens_details");
  const cached = countIn(field(details, "cached_tokens"));
  const kept = countIn(field(details, "cache_write_tokens"));
  const reasoning = countIn(field(field(value, "output_tokens_details"), "reasoning_tokens"));
  return {
    inputTokens,
    outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: Math.min(cached, inputTokens) }),
    ...(kept === undefined
      ? {}
      : { cacheWriteTokens: Math.min(kept, inputTokens - Math.min(cached ?? 0, inputTokens)) }),
    ...(reasoning === undefined ? {} : { reasoningTokens: Math.min(reasoning, outputTokens) }),
  };
}
