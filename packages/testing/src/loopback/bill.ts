import type { Clock, Usage } from "@ravi/kernel";
import type { BillDisk } from "./bill-file.ts";
import { costOf, DEFAULT_PRICES, dollarsOf, type Prices } from "./price.ts";
import { type BillEntry, type BillSummary, sumBill } from "./read-bill.ts";

interface Charge {
  readonly model: string;
  readonly usage: Usage;
  readonly idempotencyKey: string | undefined;
  readonly key: string | undefined;
}

/** What was charged, in order. */
export interface Bill {
  /**
   * Charges a call. Resolves when the entry is on the disk. After a failed write it always rejects, so that nothing is answered
   * without being charged.
   */
  add(charge: Charge): Promise<BillEntry>;
  summary(): BillSummary;
  close(): Promise<void>;
}

export interface BillOptions {
  /** Default: only in memory. */
  readonly disk: BillDisk | undefined;
  readonly prices: Prices | ((model: string) => Prices) | undefined;
  readonly clock: Clock;
}

interface Pending {
  readonly entry: BillEntry;
  readonly resolve: (entry: BillEntry) => void;
  readonly reject: (error: Error) => void;
}

/** A bill that continues the entries of its disk. */
export function makeBill({ disk, prices = DEFAULT_PRICES, clock }: BillOptions): Bill {
  const entries: BillEntry[] = [...(disk?.entries ?? [])];
  let numbered = entries.length;
  let waiting: Pending[] = [];
  let writing: Promise<void> | undefined;
  let refusal: Error | undefined;

  /** Entries that arrived while the last group was being written go into one write and one fsync. */
  const writeGroups = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        await disk?.append(group.map(({ entry }) => `${JSON.stringify(entry)}\n`).join(""));
      } catch (cause) {
        refusal = new Error("the bill cannot be written, so no more requests are answered", { cause });
        for (const { reject } of [...group, ...waiting.splice(0)]) reject(refusal);
        break;
      }
      for (const { entry, resolve } of group) {
        entries.push(entry);
        resolve(entry);
      }
    }
    // In the same tick as the last check of the queue, so that the next entry starts a new round.
    writing = undefined;
  };

  return {
    add: (charge) =>
      new Promise((resolve, reject) => {
        if (refusal !== undefined) {
          reject(refusal);
          return;
        }
        const price = typeof prices === "function" ? prices(charge.model) : prices;
        const nano = costOf(charge.usage, price);
        const entry = entryOf(charge, { n: numbered + 1, at: clock.now(), costUsd: dollarsOf(nano) });
        numbered++;
        waiting.push({ entry, resolve, reject });
        writing ??= writeGroups();
      }),
    summary: () => sumBill([...entries]),
    async close() {
      refusal ??= new Error("the bill is closed");
      await writing;
      await disk?.close();
    },
  };
}

function entryOf(charge: Charge, made: Pick<BillEntry, "n" | "at" | "costUsd">): BillEntry {
  const { model, usage, idempotencyKey, key } = charge;
  const { inputTokens, outputTokens, cachedInputTokens } = usage;
  return {
    n: made.n,
    at: made.at,
    model,
    inputTokens,
    outputTokens,
    costUsd: made.costUsd,
    ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(key === undefined ? {} : { key }),
  };
}
