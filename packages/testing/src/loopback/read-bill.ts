import { readFileSync } from "node:fs";
import { InvalidValueError } from "@ravi/kernel";
import { tryParse } from "@ravi/kernel/provider";
import { dollarsOf, nanoOf } from "./price.ts";

/** One request that was answered and charged. */
export interface BillEntry {
  /** Counts from 1, without gaps. */
  readonly n: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  /** The part of the input tokens that was cached, if the answer reports it. */
  readonly cachedInputTokens?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The last four characters of the API key. */
  readonly key?: string | undefined;
}

/** The totals of a bill, and its entries. */
export interface BillSummary {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Added up in whole nano-dollars, so it is exact. */
  readonly costUsd: number;
  readonly entries: readonly BillEntry[];
}

/**
 * Adds up a bill file, also while the server is still writing it, or after it was killed. A last line that was cut off was
 * never answered and is left out. Any other line that is no entry, and numbers out of sequence (two servers on one file), throw an
 * `InvalidValueError` that names the line. There is no checksum: a changed digit is not noticed.
 */
export function readBill(file: string): BillSummary {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new InvalidValueError({
      field: "bill file",
      value: file,
      expected: "a file that can be read",
      cause,
    });
  }
  return sumBill(parseBill(text, file));
}

/** The entries in the text of a bill, without a last line that was cut off. */
export function parseBill(text: string, file: string): readonly BillEntry[] {
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line, index) => parseEntry(line, index + 1, file));
}

export function sumBill(entries: readonly BillEntry[]): BillSummary {
  let inputTokens = 0;
  let outputTokens = 0;
  let nano = 0n;
  for (const entry of entries) {
    inputTokens += entry.inputTokens;
    outputTokens += entry.outputTokens;
    nano += nanoOf(entry.costUsd);
  }
  return { calls: entries.length, inputTokens, outputTokens, costUsd: dollarsOf(nano), entries };
}

function parseEntry(line: string, number: number, file: string): BillEntry {
  const value = tryParse(line);
  if (isEntry(value) && value.n === number) return value;
  throw new InvalidValueError({
    field: `line ${number} of ${file}`,
    value: line,
    expected: `entry ${number} of a bill; the file is damaged, or more than one server wrote to it`,
  });
}

function isEntry(value: unknown): value is BillEntry {
  if (typeof value !== "object" || value === null) return false;
  const counts = ["n", "at", "inputTokens", "outputTokens", "costUsd"];
  return (
    counts.every((key) => Number.isFinite(Reflect.get(value, key))) &&
    typeof Reflect.get(value, "model") === "string"
  );
}
