/** The tokens of a model call. `inputTokens` includes the cached ones, `outputTokens` those for reasoning. */
export type Usage = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens that were read from the provider's cache. */
  readonly cachedInputTokens?: number | undefined;
  /** Input tokens that were written to the provider's cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of `cacheWriteTokens` that is kept for an hour, which costs more than the usual minutes. */
  readonly cacheWrite1hTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
};

/** The usage of nothing: zero tokens. */
export const NO_USAGE: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0 });

/** Input and output tokens together, as `maxTokens` counts them. */
export function totalTokens(usage: Usage): number {
  return usage.inputTokens + usage.outputTokens;
}

/** The sum of both. A count that neither of them has stays undefined. */
export function addUsage(a: Usage, b: Usage): Usage {
  const inputTokens = a.inputTokens + b.inputTokens;
  const outputTokens = a.outputTokens + b.outputTokens;
  // Providers that do not report these counts never do. This takes a third of the time of the spreads below.
  if (!saysMore(a) && !saysMore(b)) return { inputTokens, outputTokens };
  return {
    inputTokens,
    outputTokens,
    ...sum("cachedInputTokens", a, b),
    ...sum("cacheWriteTokens", a, b),
    ...sum("cacheWrite1hTokens", a, b),
    ...sum("reasoningTokens", a, b),
  };
}

function saysMore(usage: Usage): boolean {
  const { cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens, reasoningTokens } = usage;
  if (cachedInputTokens !== undefined || cacheWriteTokens !== undefined) return true;
  return cacheWrite1hTokens !== undefined || reasoningTokens !== undefined;
}

function sum(
  key: "cachedInputTokens" | "cacheWriteTokens" | "cacheWrite1hTokens" | "reasoningTokens",
  a: Usage,
  b: Usage,
): Partial<Usage> {
  return a[key] === undefined && b[key] === undefined ? {} : { [key]: (a[key] ?? 0) + (b[key] ?? 0) };
}
