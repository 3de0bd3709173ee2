import type { Journal, MaybePromise } from "@ravi/kernel";
import { allWithin, declareCases, offered, PATIENCE_MS } from "./case.ts";
import { virtualClock } from "../virtual-clock.ts";
import { abandonCases } from "./journal/abandons.ts";
import { amountCases } from "./journal/amounts.ts";
import { claimCases } from "./journal/claims.ts";
import { entryCases } from "./journal/entries.ts";
import { lifeCases } from "./journal/life.ts";
import { modelCases } from "./journal/model.ts";
import { plainDataCases } from "./journal/plain-data.ts";
import { postedCases } from "./journal/posted.ts";
import { reasonCases } from "./journal/reasons.ts";
import type { JournalCase, JournalSetup } from "./journal/stage.ts";
import { waitCases } from "./journal/waits.ts";
import { watchCases } from "./journal/watches.ts";

export type { JournalSetup } from "./journal/stage.ts";

/** What an implementation offers beyond `open`. Cases that need something it lacks are left out. */
export interface JournalSuite {
  /** Closes the store as a process that ends does, and opens it again. Leave it out for a store that only lives in memory. */
  readonly reopen?: ((journal: Journal, setup: JournalSetup) => MaybePromise<Journal>) | undefined;
  /** Opens a second handle on the same store, as another process would. */
  readonly second?: ((journal: Journal, setup: JournalSetup) => MaybePromise<Journal>) | undefined;
  /** Whether its `list` tells what runs wait for. */
  readonly waits?: true | undefined;
  /** Whether its `list` tells whose the runs are: `sessionId`, `tenantId` and `userId`. */
  readonly scopes?: true | undefined;
  /** Whether its `list` tells why runs are suspended, have failed or were cancelled: `error` and `cancelReason`. */
  readonly reasons?: true | undefined;
  /** How long a case may take, in real milliseconds. Some make 1,234 calls. Default: 60,000. */
  readonly patienceMs?: number | undefined;
}

/** All cases of `describeJournal`. */
export const journalCases: readonly JournalCase[] = [
  ...claimCases,
  ...abandonCases,
  ...entryCases,
  ...plainDataCases,
  ...postedCases,
  ...watchCases,
  ...amountCases,
  ...lifeCases,
  ...waitCases,
  ...reasonCases,
  ...modelCases,
];

/**
 * Declares vitest tests for what every journal must do. `open` returns a new, empty journal whose claims expire by the given
 * clock.
 */
export function describeJournal(
  name: string,
  open: (setup: JournalSetup) => MaybePromise<Journal>,
  suite: JournalSuite = {},
): void {
  declareCases(
    `journal ${name}`,
    journalCases,
    (needs) => suite[needs] !== undefined,
    (each) => assertJournalCase(each, open, suite),
    suite.patienceMs,
  );
}

/** Runs one case. Rejects if the journal does not do what the case says. */
export async function assertJournalCase(
  each: JournalCase,
  open: (setup: JournalSetup) => MaybePromise<Journal>,
  suite: JournalSuite = {},
): Promise<void> {
  const setup: JournalSetup = { clock: virtualClock({ now: 1_700_000_000_000 }) };
  const journal = await open(setup);
  const opened = [journal];
  const derive = async (how: "reopen" | "second", from: Journal): Promise<Journal> => {
    const next = await offered(suite, how, each)(from, setup);
    opened.push(next);
    return next;
  };
  try {
    await each.run({
      clock: setup.clock,
      journal,
      reopen: (from) => derive("reopen", from),
      second: () => derive("second", journal),
      // Before vitest ends the case.
      all: (what, calls) => allWithin(0.9 * (suite.patienceMs ?? PATIENCE_MS), what, calls),
    });
  } finally {
    for (const one of opened) await one.close();
  }
}
