import type { Usage } from "@ravi/kernel";
import { countIn, field, isObject, listOf } from "@ravi/kernel/provider";

/** What tells how a provider counts. */
export interface Counting {
  /** The provider's full name, including the protocol, such as `anthropic.messages`. */
  readonly provider: string;
  /** The provider's own metadata of the answer. */
  readonly metadata: unknown;
}

/**
 * The usage that the model reports; undefined if input or output is missing. A call without usage is charged what was reserved for
 * it, so a missing count must not become zero.
 */
export function usageOf(value: unknown, counting: Counting): Usage | undefined {
  const given = isObject(field(value, "inputTokens")) ? nested(value) : flat(value, counting);
  const { input, output, cached, written, reasoning } = given;
  // A prompt is never empty: if both counts are zero, nobody has counted.
  if (input === undefined || output === undefined || input + output === 0) return undefined;
  const forAnHour = Math.min(hourWrites(counting), written ?? 0, input);
  return {
    inputTokens: input,
    outputTokens: output,
    ...(cached === undefined ? {} : { cachedInputTokens: Math.min(cached, input) }),
    ...(written === undefined || written === 0 ? {} : { cacheWriteTokens: Math.min(written, input) }),
    ...(forAnHour === 0 ? {} : { cacheWrite1hTokens: forAnHour }),
    ...(reasoning === undefined ? {} : { reasoningTokens: Math.min(reasoning, output) }),
  };
}

/** The tokens that were written to a cache for an hour. Only the metadata of Anthropic and Bedrock have that count. */
function hourWrites({ metadata }: Counting): number {
  const said = field(field(metadata, "anthropic"), "usage");
  const own = countIn(field(field(said, "cache_creation"), "ephemeral_1h_input_tokens")) ?? 0;
  const details = listOf(field(field(field(metadata, "bedrock"), "usage"), "cacheDetails"));
  return details
    .filter((detail) => field(detail, "ttl") === "1h")
    .reduce<number>((sum, detail) => sum + (countIn(field(detail, "inputTokens")) ?? 0), own);
}

interface Counts {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly written: number | undefined;
  readonly reasoning: number | undefined;
}

/** Usage of v3 and later. */
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

/**
 * Usage of v2. Its providers pass on what their servers count: some do not include cached tokens in the input, or thoughts in the
 * output.
 */
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

/** Cached tokens cannot exceed the input. If they do, they were counted separately and are added. */
function withCached(input: number, cached: number | undefined): number {
  return cached !== undefined && cached > input ? input + cached : input;
}
