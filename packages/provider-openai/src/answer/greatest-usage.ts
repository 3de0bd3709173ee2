import type { Usage } from "@ravi/kernel";

/**
 * Of what a stream says at different times that the call used, the greatest. A count only grows on the way, so one that is
 * smaller than before cannot be true: zeros at the end would make a paid call free.
 */
export function greatestUsage(known: Usage | undefined, said: Usage): Usage {
  if (known === undefined) return said;
  const inputTokens = Math.max(known.inputTokens, said.inputTokens);
  const cached = greatest(known.cachedInputTokens, said.cachedInputTokens);
  const written = greatest(known.cacheWriteTokens, said.cacheWriteTokens);
  const reasoning = greatest(known.reasoningTokens, said.reasoningTokens);
  return {
    inputTokens,
    outputTokens: Math.max(known.outputTokens, said.outputTokens),
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    // Each is a part of the input, and the two have nothing in common.
    ...(written === undefined ? {} : { cacheWriteTokens: Math.min(written, inputTokens - (cached ?? 0)) }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function greatest(known: number | undefined, said: number | undefined): number | undefined {
  return known === undefined || said === undefined ? (known ?? said) : Math.max(known, said);
}
