import type { Usage } from "@ravi/kernel";
import { countIn, field } from "@ravi/kernel/provider";

/** What the server says that the call used; undefined where that is no sensible number: then the reservation is charged. */
export function readUsage(value: unknown): Usage | undefined {
  const inputTokens = countIn(field(value, "input_tokens"));
  const outputTokens = countIn(field(value, "output_tokens"));
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const details = field(value, "input_tokens_details");
  const cached = countIn(field(details, "cached_tokens"));
  const written = countIn(field(details, "cache_write_tokens"));
  const reasoning = countIn(field(field(value, "output_tokens_details"), "reasoning_tokens"));
  return {
    inputTokens,
    outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: Math.min(cached, inputTokens) }),
    ...(written === undefined
      ? {}
      : { cacheWriteTokens: Math.min(written, inputTokens - Math.min(cached ?? 0, inputTokens)) }),
    ...(reasoning === undefined ? {} : { reasoningTokens: Math.min(reasoning, outputTokens) }),
  };
}
