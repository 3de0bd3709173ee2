import type { Usage } from "../model/usage.ts";

/**
 * A provider's usage, if its numbers make sense. Negative or invalid numbers would make a paid answer fail or change a limit:
 * they count as not reported.
 */
export function soundUsage(usage: Usage | null | undefined): Usage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const {
    inputTokens,
    outputTokens,
    cachedInputTokens = 0,
    cacheWriteTokens = 0,
    cacheWrite1hTokens = 0,
    reasoningTokens = 0,
  } = usage;
  const isCount = isTokens(inputTokens) && isTokens(outputTokens) && isTokens(inputTokens + outputTokens);
  if (!isCount || !isTokens(reasoningTokens)) return undefined;
  const isPart = isTokens(cachedInputTokens) && isTokens(cacheWriteTokens);
  if (!isPart || !isTokens(cacheWrite1hTokens) || cacheWrite1hTokens > cacheWriteTokens) return undefined;
  return cachedInputTokens <= inputTokens && cacheWriteTokens <= inputTokens ? usage : undefined;
}

function isTokens(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
