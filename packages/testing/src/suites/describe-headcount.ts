import type { Headcount, JsonObject, MaybePromise } from "@ravi/kernel";
import { declareCases, offered, throughJson, within } from "./case.ts";
import { virtualClock } from "../virtual-clock.ts";
import { gameCases } from "./headcount/games.ts";
import { hireCases } from "./headcount/hires.ts";
import { queueCases } from "./headcount/queues.ts";
import { releaseCases } from "./headcount/releases.ts";
import { snapshotCases } from "./headcount/snapshots.ts";
import { type HeadcountCase, type HeadcountSetup, ROOT } from "./headcount/stage.ts";

export type { HeadcountSetup } from "./headcount/stage.ts";

/** What an implementation offers beyond `open`. Cases that need something it lacks are left out. */
export interface HeadcountSuite {
  /** Opens a second handle on the same slots, as another process would. */
  readonly second?: ((headcount: Headcount, setup: HeadcountSetup) => MaybePromise<Headcount>) | undefined;
  /** Makes a headcount from what `snapshot()` returned. */
  readonly restore?: ((snapshot: JsonObject, setup: HeadcountSetup) => MaybePromise<Headcount>) | undefined;
  /** Called at the end of a case for each headcount that the suite has opened. */
  readonly close?: ((headcount: Headcount) => MaybePromise<void>) | undefined;
  /** How long a slot that must come may take, in real milliseconds. Default: 5,000. */
  readonly patienceMs?: number | undefined;
}

/** All cases of `describeHeadcount`. */
export const headcountCases: readonly HeadcountCase[] = [
  ...hireCases,
  ...releaseCases,
  ...queueCases,
  ...snapshotCases,
  ...gameCases,
];

/**
 * Declares vitest tests for what every headcount must do. `open` returns a new headcount with the given budget, in which only the
 * root holds a slot. A case may open several.
 */
export function describeHeadcount(
  name: string,
  open: (setup: HeadcountSetup) => MaybePromise<Headcount>,
  suite: HeadcountSuite = {},
): void {
  declareCases(
    `headcount ${name}`,
    headcountCases,
    (needs) => suite[needs] !== undefined,
    (each) => assertHeadcountCase(each, open, suite),
  );
}

/** Runs one case. Rejects if the headcount does not do what the case says. */
export async function assertHeadcountCase(
  each: HeadcountCase,
  open: (setup: HeadcountSetup) => MaybePromise<Headcount>,
  suite: HeadcountSuite = {},
): Promise<void> {
  const clock = virtualClock({ now: 1_700_000_000_000 });
  const setups = new Map<Headcount, HeadcountSetup>();
  const keep = async (setup: HeadcountSetup, made: MaybePromise<Headcount>): Promise<Headcount> => {
    const headcount = await made;
    setups.set(headcount, setup);
    return headcount;
  };
  const setupOf = (headcount: Headcount): HeadcountSetup =>
    setups.get(headcount) ?? { budget: {}, rootId: ROOT, clock };
  try {
    await each.run({
      open: async (budget) => {
        const setup = { budget, rootId: ROOT, clock };
        return keep(setup, open(setup));
      },
      second: async (of) => keep(setupOf(of), offered(suite, "second", each)(of, setupOf(of))),
      restore: async (from) =>
        keep(setupOf(from), offered(suite, "restore", each)(throughJson(from.snapshot()), setupOf(from))),
      soon: (what, promise) => within(suite.patienceMs ?? 5_000, what, promise),
    });
  } finally {
    for (const headcount of setups.keys()) await suite.close?.(headcount);
  }
}
