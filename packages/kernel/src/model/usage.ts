import { InvalidValueError } from "../errors/errors.ts";

/** What a model call used. Input includes the cached tokens, output the reasoning tokens. */
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
  if (!isObject(usage)) throw invalidUsage(usage, NO_USAGE);
  return usage.inputTokens + usage.outputTokens;
}

/** The sum of both. A count that neither of them has stays undefined. */
export function addUsage(a: Usage, b: Usage): Usage {
  if (!isObject(a) || !isObject(b)) throw invalidUsage(a, b);
  const inputTokens = a.inputTokens + b.inputTokens;
  const outputTokens = a.outputTokens + b.outputTokens;
  // What is no number would be in every later sum, and no limit would ever be reached.
  if (Number.isNaN(inputTokens + outputTokens)) throw invalidUsage(a, b);
  // Most providers that say nothing of these never do: a third of the time of the spreads.
  if (!hasDetails(a) && !hasDetails(b)) return { inputTokens, outputTokens };
  return {
    inputTokens,
    outputTokens,
    ...sum("cachedInputTokens", a, b),
    ...sum("cacheWriteTokens", a, b),
    ...sum("cacheWrite1hTokens", a, b),
    ...sum("reasoningTokens", a, b),
  };
}

function hasDetails(usage: Usage): boolean {
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

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function invalidUsage(a: Usage, b: Usage): InvalidValueError {
  const isFirst = !isObject(a) || Number.isNaN(a.inputTokens + a.outputTokens);
  const expected = "a Usage with the numbers inputTokens and outputTokens";
  return new InvalidValueError({ field: "usage", value: isFirst ? a : b, expected });
}
