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

type Count = number | "missing" | "wrong";

const INPUTS = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] as const;
type Input = (typeof INPUTS)[number];

export function usageReader(): UsageReader {
  const inputs: Record<Input, Count> = {
    input_tokens: "missing",
    cache_creation_input_tokens: "missing",
    cache_read_input_tokens: "missing",
  };
  let output: Count = "missing";
  let thinking: Count = "missing";

  const readInputs = (value: unknown): void => {
    for (const name of INPUTS) inputs[name] = later(inputs[name], fieldsOf(value)[name]);
  };

  return {
    start: readInputs,
    end(value) {
      readInputs(value);
      const { output_tokens: written, output_tokens_details: details } = fieldsOf(value);
      output = later(output, written);
      thinking = later(thinking, fieldsOf(details)["thinking_tokens"]);
    },
    total() {
      const {
        input_tokens: fresh,
        cache_creation_input_tokens: kept,
        cache_read_input_tokens: found,
      } = inputs;
      if (typeof fresh !== "number" || typeof output !== "number") return undefined;
      if (kept === "wrong" || found === "wrong") return undefined;
      const inputTokens = fresh + orNone(kept) + orNone(found);
      if (!Number.isSafeInteger(inputTokens)) return undefined;
      return {
        inputTokens,
        outputTokens: output,
        ...(found === "missing" ? {} : { cachedInputTokens: found }),
        ...(kept === "missing" ? {} : { cacheWriteTokens: kept }),
        ...(typeof thinking === "number" ? { reasoningTokens: Math.min(thinking, output) } : {}),
      };
    },
  };
}

/** A count that comes later takes the place of an earlier one, since they add up on the way; silence changes nothing. */
function later(known: Count, value: unknown): Count {
  if (value === undefined || value === null) return known;
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : "wrong";
}

function orNone(count: number | "missing"): number {
  return count === "missing" ? 0 : count;
}
