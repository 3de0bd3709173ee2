import { InvalidValueError, type ModelInfo, type Usage } from "@ravi/kernel";

/** The rates applied to a call: dollars per million tokens, except `request`. Plain data, to be recorded with the spend. */
export type Rates = {
  readonly input: number;
  readonly cachedInput: number;
  readonly cacheWrite: number;
  /** Of input tokens cached for an hour. If not known: twice the price of input, or `cacheWrite` if that is more. */
  readonly cacheWrite1h?: number;
  readonly output: number;
  readonly reasoning: number;
  /** Dollars per request, whatever its size. */
  readonly request: number;
};

const MILLION = 1_000_000;

/**
 * The price in dollars. Cached and written tokens are parts of the input, reasoning tokens of the output: each is paid for once.
 */
export function priceAt(rates: Rates, usage: Usage): number {
  const cached = count("cachedInputTokens", usage.cachedInputTokens);
  const written = count("cacheWriteTokens", usage.cacheWriteTokens);
  const hour = Math.min(written, count("cacheWrite1hTokens", usage.cacheWrite1hTokens));
  const reasoning = count("reasoningTokens", usage.reasoningTokens);
  const input = inputOf(usage);
  const output = Math.max(known("outputTokens", usage.outputTokens), reasoning);
  const perMillion =
    (input - cached - written) * rates.input +
    cached * rates.cachedInput +
    (written - hour) * rates.cacheWrite +
    (hour > 0 ? hour * hourRate(rates) : 0) +
    (output - reasoning) * rates.output +
    reasoning * rates.reasoning;
  return perMillion / MILLION + rates.request;
}

/** All input tokens. If a provider reports a total below the sum of its parts, the sum counts. */
export function inputOf({ inputTokens, cachedInputTokens, cacheWriteTokens }: Usage): number {
  const parts = count("cachedInputTokens", cachedInputTokens) + count("cacheWriteTokens", cacheWriteTokens);
  return Math.max(known("inputTokens", inputTokens), parts);
}

/**
 * The most that a call can cost, in dollars: the provider may write all of the input to its cache (for an hour if asked to), and all of the
 * output may be reasoning.
 */
export function worstPriceAt(
  rates: Rates,
  inputTokens: number,
  outputTokens: number,
  cacheTtl?: ModelInfo["cacheTtl"],
): number {
  // One that is asked for an hour may write for minutes all the same, which own prices may say is dearer.
  const hour = cacheTtl === "1h" ? hourRate(rates) : 0;
  const input = Math.max(rates.input, rates.cachedInput, rates.cacheWrite, hour);
  const output = Math.max(rates.output, rates.reasoning);
  const perMillion = known("inputTokens", inputTokens) * input + known("outputTokens", outputTokens) * output;
  return perMillion / MILLION + rates.request;
}

function hourRate({ input, cacheWrite, cacheWrite1h }: Rates): number {
  return cacheWrite1h ?? Math.max(cacheWrite, 2 * input);
}

function count(field: keyof Usage, value: number | undefined): number {
  return value === undefined ? 0 : known(field, value);
}

/** What nobody has said is not taken for none: the call would be free. */
function known(field: keyof Usage, value: number): number {
  if (typeof value === "number" && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidValueError({ field: `usage.${field}`, value, expected: "a number of tokens, at least 0" });
}
