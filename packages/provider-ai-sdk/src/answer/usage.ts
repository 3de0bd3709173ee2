import type { Usage } from "@ravi/kernel";
import { countIn, field, isObject } from "@ravi/kernel/provider";

/**
 * What the model says that the call used; undefined where it does not say both sides. It is money: a count that is not there
 * must not be settled as zero, and what is not said is charged as it was reserved.
 */
export function usageOf(value: unknown): Usage | undefined {
  const given = isObject(field(value, "inputTokens")) ? nested(value) : flat(value);
  const { input, output, cached, written, reasoning } = given;
  if (input === undefined || output === undefined) return undefined;
  // Some providers of v2 count the cached tokens beside the input.
  const inputTokens = cached !== undefined && cached > input ? input + cached : input;
  return {
    inputTokens,
    outputTokens: output,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(written === undefined || written === 0 ? {} : { cacheWriteTokens: Math.min(written, inputTokens) }),
    ...(reasoning === undefined ? {} : { reasoningTokens: Math.min(reasoning, output) }),
  };
}

interface Counts {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly written: number | undefined;
  readonly reasoning: number | undefined;
}

/** From v3 on. */
function nested(value: unknown): Counts {
  const input = field(value, "inputTokens");
  const output = field(value, "outputTokens");
  return {
    input: countIn(field(input, "total")),
    output: countIn(field(output, "total")),
    cached: countIn(field(input, "cacheRead")),
    written: countIn(field(input, "cacheWrite")),
    reasoning: countIn(field(output, "reasoning")),
  };
}

/** Of v2. */
function flat(value: unknown): Counts {
  return {
    input: countIn(field(value, "inputTokens")),
    output: countIn(field(value, "outputTokens")),
    cached: countIn(field(value, "cachedInputTokens")),
    written: undefined,
    reasoning: countIn(field(value, "reasoningTokens")),
  };
}
