import { addUsage, type Usage } from "@ravi/kernel";
import { fieldsOf, listOf } from "@ravi/kernel/provider";

/** Collects the usage of a call. A stream reports it in two halves: the input at the start, the output at the end. */
export interface UsageReader {
  /** Usage at the start of a stream. Its output count is only that of the beginning and is ignored. */
  start(value: unknown): void;
  /** Usage at the end of a stream, or of an answer that is not streamed. */
  end(value: unknown): void;
  /** Undefined if a count is missing or not valid, or all are zero: then the reservation is charged. */
  total(): Usage | undefined;
}

export interface UsageSetup {
  /** The lifetime of the cache that the request asked for. */
  readonly cacheTtl?: "1h" | undefined;
}

/** Rounds of a call that its counts do not include: a compaction at the server, and another model that was asked for advice. */
const COUNTED_BESIDE: ReadonlySet<unknown> = new Set(["compaction", "advisor_message"]);

type Count = number | "missing" | "wrong";
type Inputs = Readonly<
  Record<"input_tokens" | "cache_creation_input_tokens" | "cache_read_input_tokens", Count>
>;

export function usageReader(setup: UsageSetup = {}): UsageReader {
  const { cacheTtl } = setup;
  let inputs: Inputs = {
    input_tokens: "missing",
    cache_creation_input_tokens: "missing",
    cache_read_input_tokens: "missing",
  };
  let mostInput = 0;
  const output = new Growing();
  const thinking = new Growing();
  const forAnHour = new Growing();
  let besides: readonly unknown[] = [];

  const readInputs = (value: unknown): void => {
    forAnHour.add(fieldsOf(fieldsOf(value)["cache_creation"])["ephemeral_1h_input_tokens"]);
    const latest = laterInputs(inputs, value);
    const sum = sumOf(latest);
    // Only the sum can be compared: some servers report only at the end how much of the same input was cached.
    if (sum < mostInput) return;
    inputs = latest;
    if (!Number.isNaN(sum)) mostInput = sum;
  };

  return {
    start: readInputs,
    end(value) {
      const { output_tokens: written, output_tokens_details: details, iterations } = fieldsOf(value);
      const rounds = listOf(iterations);
      if (rounds.length > 0) {
        // The count at the start was that of the first round, which may be one of these.
        mostInput = 0;
        besides = rounds.filter((round) => COUNTED_BESIDE.has(fieldsOf(round)["type"]));
      }
      readInputs(value);
      output.add(written);
      thinking.add(fieldsOf(details)["thinking_tokens"]);
    },
    total() {
      const {
        input_tokens: fresh,
        cache_creation_input_tokens: kept,
        cache_read_input_tokens: found,
      } = inputs;
      const { count: written } = output;
      const { count: thought } = thinking;
      if (typeof fresh !== "number" || typeof written !== "number") return undefined;
      const { count: hour } = forAnHour;
      if (kept === "wrong" || found === "wrong" || hour === "wrong") return undefined;
      const inputTokens = fresh + orNone(kept) + orNone(found);
      // A prompt is never empty: if all counts are zero, nobody has counted.
      if (!Number.isSafeInteger(inputTokens) || inputTokens + written === 0) return undefined;
      const own: Usage = {
        inputTokens,
        outputTokens: written,
        ...(found === "missing" ? {} : { cachedInputTokens: found }),
        ...(kept === "missing" ? {} : { cacheWriteTokens: kept, ...keptForAnHour(kept, hour, cacheTtl) }),
        ...(typeof thought === "number" ? { reasoningTokens: Math.min(thought, written) } : {}),
      };
      return besides.reduce<Usage | undefined>((sum, round) => {
        const more = usageReader(setup);
        more.end(round);
        const spent = more.total();
        return sum === undefined || spent === undefined ? undefined : addUsage(sum, spent);
      }, own);
    },
  };
}

/**
 * The writes that are kept for an hour. If the server does not report them but was asked to keep them that long, all writes count
 * as such: that is the more expensive price.
 */
function keptForAnHour(
  kept: number,
  hour: number | "missing",
  cacheTtl: UsageSetup["cacheTtl"],
): Pick<Usage, "cacheWrite1hTokens"> {
  const tokens = hour === "missing" && cacheTtl === "1h" ? kept : Math.min(kept, orNone(hour));
  return tokens === 0 ? {} : { cacheWrite1hTokens: tokens };
}

/**
 * A count that is reported several times. It only grows during a call, so a smaller one is ignored: zeros at the end would make a
 * paid call free.
 */
class Growing {
  count: Count = "missing";
  private most = 0;

  add(value: unknown): void {
    const latest = later(this.count, value);
    if (typeof latest === "number" && latest < this.most) return;
    this.count = latest;
    if (typeof latest === "number") this.most = latest;
  }
}

function laterInputs(known: Inputs, value: unknown): Inputs {
  const fields = fieldsOf(value);
  return {
    input_tokens: later(known.input_tokens, fields["input_tokens"]),
    cache_creation_input_tokens: later(
      known.cache_creation_input_tokens,
      fields["cache_creation_input_tokens"],
    ),
    cache_read_input_tokens: later(known.cache_read_input_tokens, fields["cache_read_input_tokens"]),
  };
}

/** NaN if a count is not valid. */
function sumOf(inputs: Inputs): number {
  return Object.values(inputs)
    .map((count) => (count === "wrong" ? Number.NaN : orNone(count)))
    .reduce((sum, count) => sum + count, 0);
}

/** A later count replaces an earlier one, since counts are cumulative. A missing one changes nothing. */
function later(known: Count, value: unknown): Count {
  if (value === undefined || value === null) return known;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : "wrong";
}

function orNone(count: number | "missing"): number {
  return count === "missing" ? 0 : count;
}
