import type { Usage } from "../model/usage.ts";

/**
 * What a provider says was used, where it can be counted with. Numbers that are none, or less than nothing, would make a paid
 * answer fail or a limit move: they count as not said.
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
