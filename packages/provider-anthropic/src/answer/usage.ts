import type { Usage } from "@ravi/kernel";
import { fieldsOf } from "@ravi/kernel/provider";

/** Collects what a call used. A stream tells it in two halves: the input at its start, the output at its end. */
export interface UsageReader {
  /** From the start of a stream: of the output it knows only the beginning. */
  start(value: unknown): void;
  /** From its end, or from an answer that is whole. */
  end(value: unknown): void;
  /** Undefined where a count is missing or cannot be true. It is money: then what was reserved is charged. */
  total(): Usage | undefined;
}

export interface UsageSetup {
  /** What the request asked for. */
  readonly cacheTtl?: "1h" | undefined;
}

type Count = number | "missing" | "wrong";
type Inputs = Readonly<
  Record<"input_tokens" | "cache_creation_input_tokens" | "cache_read_input_tokens", Count>
>;

export function usageReader({ cacheTtl }: UsageSetup = {}): UsageReader {
  let inputs: Inputs = {
    input_tokens: "missing",
    cache_creation_input_tokens: "missing",
    cache_read_input_tokens: "missing",
  };
  let mostInput = 0;
  const output = growing();
  const thinking = growing();
  const forAnHour = growing();

  const readInputs = (value: unknown): void => {
    forAnHour.add(fieldsOf(fieldsOf(value)["cache_creation"])["ephemeral_1h_input_tokens"]);
    const told = laterInputs(inputs, value);
    const sum = sumOf(told);
    // Only the sum can be judged: some servers tell at the end what of the same input was cached.
    if (sum < mostInput) return;
    inputs = told;
    if (!Number.isNaN(sum)) mostInput = sum;
  };

  return {
    start: readInputs,
    end(value) {
      readInputs(value);
      const { output_tokens: written, output_tokens_details: details } = fieldsOf(value);
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
      if (!Number.isSafeInteger(inputTokens)) return undefined;
      return {
        inputTokens,
        outputTokens: written,
        ...(found === "missing" ? {} : { cachedInputTokens: found }),
        ...(kept === "missing" ? {} : { cacheWriteTokens: kept, ...keptForAnHour(kept, hour, cacheTtl) }),
        ...(typeof thought === "number" ? { reasoningTokens: Math.min(thought, written) } : {}),
      };
    },
  };
}

/** Where the server does not say which of them, and was asked to keep them so long, it is all: the dearer one. */
function keptForAnHour(
  kept: number,
  hour: number | "missing",
  cacheTtl: UsageSetup["cacheTtl"],
): Pick<Usage, "cacheWrite1hTokens"> {
  const tokens = hour === "missing" && cacheTtl === "1h" ? kept : Math.min(kept, orNone(hour));
  return tokens === 0 ? {} : { cacheWrite1hTokens: tokens };
}

/** A count that comes several times. It only grows on the way: zeros at the end would make a paid call free. */
function growing(): { add(value: unknown): void; readonly count: Count } {
  let count: Count = "missing";
  let most = 0;
  return {
    add(value) {
      const told = later(count, value);
      if (typeof told === "number" && told < most) return;
      count = told;
      if (typeof told === "number") most = told;
    },
    get count() {
      return count;
    },
  };
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

/** NaN where a part of it cannot be true. */
function sumOf(inputs: Inputs): number {
  return Object.values(inputs)
    .map((count) => (count === "wrong" ? Number.NaN : orNone(count)))
    .reduce((sum, count) => sum + count, 0);
}

/** A count that comes later takes the place of an earlier one, since they add up on the way; silence changes nothing. */
function later(known: Count, value: unknown): Count {
  if (value === undefined || value === null) return known;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : "wrong";
}

function orNone(count: number | "missing"): number {
  return count === "missing" ? 0 : count;
}
