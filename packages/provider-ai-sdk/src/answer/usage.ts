import type { Usage } from "@ravi/kernel";
import { countIn, field, isObject } from "@ravi/kernel/provider";

/** What says how a model counts, beside what it counted. */
export interface Counting {
  /** The provider, with the protocol that it speaks: `anthropic.messages`, say. */
  readonly provider: string;
  /** The provider's own words about the answer. */
  readonly metadata: unknown;
}

/**
 * What the model says that the call used; undefined where it does not say both sides. It is money: a count that is not there
 * must not be settled as zero, and what is not said is charged as it was reserved.
 */
export function usageOf(value: unknown, counting: Counting): Usage | undefined {
  const given = isObject(field(value, "inputTokens")) ? nested(value) : flat(value, counting);
  const { input, output, cached, written, reasoning } = given;
  if (input === undefined || output === undefined) return undefined;
  const forAnHour = Math.min(hourWrites(counting) ?? 0, written ?? 0, input);
  return {
    inputTokens: input,
    outputTokens: output,
    ...(cached === undefined ? {} : { cachedInputTokens: Math.min(cached, input) }),
    ...(written === undefined || written === 0 ? {} : { cacheWriteTokens: Math.min(written, input) }),
    ...(forAnHour === 0 ? {} : { cacheWrite1hTokens: forAnHour }),
    ...(reasoning === undefined ? {} : { reasoningTokens: Math.min(reasoning, output) }),
  };
}

/** Of what Anthropic has written to its cache, what it keeps for an hour: only its own words say that. */
function hourWrites({ metadata }: Counting): number | undefined {
  const said = field(field(metadata, "anthropic"), "usage");
  return countIn(field(field(said, "cache_creation"), "ephemeral_1h_input_tokens"));
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
  const total = countIn(field(input, "total"));
  const cached = countIn(field(input, "cacheRead"));
  return {
    input: total === undefined ? undefined : withCached(total, cached),
    output: countIn(field(output, "total")),
    cached,
    written: countIn(field(input, "cacheWrite")),
    reasoning: countIn(field(output, "reasoning")),
  };
}

/** Of v2, whose providers hand on what their servers count: some leave the cache out of the input, and thoughts out of the output. */
function flat(value: unknown, { provider, metadata }: Counting): Counts {
  const input = countIn(field(value, "inputTokens"));
  const output = countIn(field(value, "outputTokens"));
  const cached = countIn(field(value, "cachedInputTokens"));
  const reasoning = countIn(field(value, "reasoningTokens"));
  const counts = { input, output, cached, written: undefined, reasoning };
  if (input === undefined || output === undefined) return counts;
  if (/\banthropic\b/.test(provider)) {
    const written = countIn(field(field(metadata, "anthropic"), "cacheCreationInputTokens"));
    return { ...counts, written, input: input + (cached ?? 0) + (written ?? 0) };
  }
  const beside = (countIn(field(value, "totalTokens")) ?? 0) - input - output;
  if (beside <= 0) return { ...counts, input: withCached(input, cached) };
  const thoughts = reasoning !== undefined && reasoning <= beside ? reasoning : 0;
  return { ...counts, input: input + beside - thoughts, output: output + thoughts };
}

/** More cannot have been cached than was sent: there it is counted beside it. */
function withCached(input: number, cached: number | undefined): number {
  return cached !== undefined && cached > input ? input + cached : input;
}
