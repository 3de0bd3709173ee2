import type { Usage } from "@ravi/kernel";

/**
 * Combines the usage that a stream reports at different times: the greatest count wins. A count only grows during a call, so a
 * smaller one cannot be right; zeros at the end would make a paid call free.
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
    // Both are parts of the input and do not overlap, so together they cannot exceed it.
    ...(written === undefined ? {} : { cacheWriteTokens: Math.min(written, inputTokens - (cached ?? 0)) }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  };
}

function greatest(known: number | undefined, said: number | undefined): number | undefined {
  return known === undefined || said === undefined ? (known ?? said) : Math.max(known, said);
}
