import type { Journal, MaybePromise } from "@ravi/kernel";
import { describe, test } from "vitest";
import { virtualClock } from "../virtual-clock.ts";
import { abandonCases } from "./journal/abandons.ts";
import { amountCases } from "./journal/amounts.ts";
import { claimCases } from "./journal/claims.ts";
import { entryCases } from "./journal/entries.ts";
import { lifeCases } from "./journal/life.ts";
import { modelCases } from "./journal/model.ts";
import { plainDataCases } from "./journal/plain-data.ts";
import { postedCases } from "./journal/posted.ts";
import type { JournalCase, JournalSetup } from "./journal/stage.ts";
import { watchCases } from "./journal/watches.ts";

export type { JournalSetup } from "./journal/stage.ts";

export interface JournalSuite {
  /** Lets the store go as a process does that ends, and opens it again. Without it the store dies with its object. */
  readonly reopen?: ((journal: Journal, setup: JournalSetup) => MaybePromise<Journal>) | undefined;
  /** A second handle on the same store, as another process has. */
  readonly second?: ((journal: Journal, setup: JournalSetup) => MaybePromise<Journal>) | undefined;
}

/** Only a guard against a hang: in the long run a case plays thousands of games. */
const PATIENCE_MS = process.env["RAVI_LONG"] ? 900_000 : 60_000;

/** Every case of `describeJournal`. */
export const journalCases: readonly JournalCase[] = [
  ...claimCases,
  ...abandonCases,
  ...entryCases,
  ...plainDataCases,
  ...postedCases,
  ...watchCases,
  ...amountCases,
  ...lifeCases,
  ...modelCases,
];

/** What every journal must do. `open` gives a new, empty one, whose claims lapse by the clock that it is handed. */
export function describeJournal(
  name: string,
  open: (setup: JournalSetup) => MaybePromise<Journal>,
  suite: JournalSuite = {},
): void {
  describe(`the journal ${name}`, () => {
    for (const each of journalCases) {
      if (each.needs !== undefined && suite[each.needs] === undefined) continue;
      test(`${each.rule}: ${each.says}`, { timeout: PATIENCE_MS }, () =>
        assertJournalCase(each, open, suite),
      );
    }
  });
}

/** One case by itself; rejects when the journal does not do what the case says. */
export async function assertJournalCase(
  each: JournalCase,
  open: (setup: JournalSetup) => MaybePromise<Journal>,
  suite: JournalSuite = {},
): Promise<void> {
  const setup: JournalSetup = { clock: virtualClock({ now: 1_700_000_000_000 }) };
  const opened = [await open(setup)];
  const journal = opened[0] as Journal;
  const derive = async (how: "reopen" | "second", from: Journal): Promise<Journal> => {
    const make = suite[how];
    if (make === undefined) throw new TypeError(`${each.says}: the suite has no ${how}`);
    const next = await make(from, setup);
    opened.push(next);
    return next;
  };
  try {
    await each.run({
      clock: setup.clock,
      journal,
      reopen: (from) => derive("reopen", from),
      second: () => derive("second", journal),
    });
  } finally {
    for (const one of opened) await one.close();
  }
}
