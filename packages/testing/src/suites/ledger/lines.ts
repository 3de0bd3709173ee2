import { isRaviError, type Ledger, type Reservation, type ReserveOptions } from "@ravi/kernel";
import { expect } from "vitest";
import { attempt } from "../case.ts";
import { EXHAUSTED, expectLeft, expectUsed, type LedgerCase } from "./stage.ts";

/** A ledger may refuse instead of letting a call wait; all of these cases are true of one that always does. */
export const lineCases: readonly LedgerCase[] = [
  {
    rule: "R18",
    says: "a call that is asked to wait for those under way holds nothing until there is room, if it is not refused",
    async run({ open }) {
      const ledger = await open({ maxTokens: 100 });
      const one = await ledger.reserve({ tokens: 80 });
      const asked = queued(ledger, 50);
      await (await ledger.reserve({ tokens: 20 })).cancel();
      expectLeft(ledger, "tokens", 20, "while it waits");
      await one.settle({ tokens: 10 });
      const reservation = await asked;
      expectLeft(ledger, "tokens", reservation === undefined ? 90 : 40, "when there is room");
      await reservation?.settle({ tokens: 50 });
      expectUsed(ledger, { tokens: reservation === undefined ? 10 : 60 });
    },
  },
  {
    rule: "R18",
    says: "a call that could not fit even if nothing were under way does not wait",
    async run({ open }) {
      const ledger = await open({ maxTokens: 100, maxTurns: 2 });
      await ledger.charge({ tokens: 50 });
      const one = await ledger.reserve({ tokens: 40, turns: 1 });
      for (const wanted of [{ tokens: 51 }, { tokens: 1, turns: 2 }])
        expect(await queued(ledger, wanted.tokens, { turns: wanted.turns ?? 0 })).toBeUndefined();
      await one.cancel();
      expectLeft(ledger, "tokens", 50);
    },
  },
  {
    rule: "T4",
    says: "a call that is told to wait no longer reserves nothing",
    async run({ open }) {
      const ledger = await open({ maxTokens: 100 });
      const one = await ledger.reserve({ tokens: 80 });
      const abort = new AbortController();
      const asked = queued(ledger, 50, { signal: abort.signal });
      abort.abort();
      await one.cancel();
      expect(await asked).toBeUndefined();
      expectLeft(ledger, "tokens", 100);
    },
  },
];

/** What a call comes to that may wait: undefined if it is refused, or told to wait no longer. */
async function queued(
  ledger: Ledger,
  tokens: number,
  { turns = 0, signal }: Pick<ReserveOptions, "signal"> & { readonly turns?: number } = {},
): Promise<Reservation | undefined> {
  try {
    return await attempt(() => ledger.reserve({ tokens, turns }, { onFull: "queue", signal }));
  } catch (error) {
    if (signal?.aborted !== true || !isRaviError(error, "CANCELLED")) expect(error).toMatchObject(EXHAUSTED);
    return undefined;
  }
}
