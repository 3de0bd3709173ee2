import { describe, expect, test } from "vitest";
import { type RootHandle, RunId } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { turns } from "../support/helpers.ts";
import { type Manner, OpenHouse, thenable } from "../support/open-house.ts";

// What became a plain function that returns a promise has to end as the asynchronous one did. At each of the calls that a run makes of
// its ports, one after the other: it throws, it rejects, the run is cancelled, the runtime is closed. Whatever it is, the run ends,
// nothing stays open, and each thing is told and recorded once.

const RUN = RunId("r1");

/** How all ports give what they have. */
const GIVING: Record<string, Manner> = {
  "at once": (_, make) => make(),
  "by promises": async (_, make) => make(),
  "by thenables": (_, make) => {
    const made = make();
    return thenable(Promise.resolve(made));
  },
};

type Fault = (what: {
  readonly error: Error;
  readonly run: RootHandle;
  readonly runtime: Runtime;
}) => unknown;

const FAULTS: Record<string, Fault> = {
  throws: ({ error }) => {
    throw error;
  },
  rejects: ({ error }) => Promise.reject(error),
  "rejects by a thenable": ({ error }) => thenable(Promise.reject(error)),
  "cancels the run": ({ run }) => run.cancel("enough"),
  "closes the runtime": ({ runtime }) => void runtime.close(),
};

interface Trial {
  readonly giving: Manner;
  readonly hasJournal: boolean;
  readonly fault?: Fault | undefined;
  /** The number of the call at which it happens. */
  readonly at?: number | undefined;
}

/** One run, and what is left of it. */
async function trial({ giving, hasJournal, fault, at }: Trial) {
  let calls = 0;
  const house = new OpenHouse((part, make) => {
    if (calls++ !== at || fault === undefined) return giving(part, make);
    const ended = fault({ error: new Error(`${part} broke`), run, runtime });
    return ended === undefined ? giving(part, make) : ended;
  });
  const options = { ...house.options, journal: hasJournal ? house.ownJournal : undefined };
  const runtime: Runtime = new Runtime(options);
  const run: RootHandle = runtime.run(house.agents[0], "", { runId: RUN });
  const { status, output } = await run.result.catch(() => ({ status: "rejected", output: "" }));
  await turns(3);
  const entries = house.journal
    .load(RUN)
    .map(({ exec, key, attempt, phase }) => `${exec} ${key} ${attempt} ${phase}`);
  return { calls, status, output, open: house.open, told: house.told, entries, house };
}

/** Goes on with what is on record, with nothing wrong. */
async function resumed({ journal }: OpenHouse, giving: Manner) {
  const house = new OpenHouse(giving, journal);
  const runtime = new Runtime({ ...house.options, journal, agents: house.agents });
  const { status, output } = await runtime.resume(RUN).result;
  return { status, output, open: house.open };
}

/** A start and an end for each that was told of. */
function unpaired(told: readonly string[]): string[] {
  const open = new Set<string>();
  for (const each of told) {
    const [, what, end] = /^(.*)_(start|end)$/.exec(each) ?? [];
    if (what === undefined) continue;
    if (end === "start" ? open.has(what) : !open.delete(what)) return [`twice: ${each}`];
    if (end === "start") open.add(what);
  }
  return [...open];
}

const CALM = await trial({ giving: (_, make) => make(), hasJournal: true });
const worlds = Object.entries(GIVING).flatMap(([how, giving]) =>
  [true, false].map(
    (hasJournal) => [`${how}, ${hasJournal ? "with" : "without"} a journal`, { giving, hasJournal }] as const,
  ),
);

describe.each(worlds)("ports that answer %s", (_how, world) => {
  test("R23: with nothing wrong everything is waited for, and nothing is left open", async () => {
    const { status, output, open, told, entries } = await trial(world);
    const all = "answered completed+completed completed completed+completed completed answered";
    expect({ status, output, open }).toEqual({ status: "completed", output: all, open: 0 });
    expect(unpaired(told)).toEqual([]);
    expect(told.toSorted()).toEqual(CALM.told.toSorted());
    if (world.hasJournal) expect(entries.toSorted()).toEqual(CALM.entries.toSorted());
  });

  test.each(Object.entries(FAULTS))(
    "T4: whichever call of a port %s, nothing is left open",
    async (_, fault) => {
      const { calls } = await trial(world);
      for (let at = 0; at < calls; at++) {
        const { status, open, told, entries, house } = await trial({ ...world, fault, at });
        expect({ at, status, open }).toEqual({ at, status: expect.any(String), open: 0 });
        expect({ at, unpaired: unpaired(told) }).toEqual({ at, unpaired: [] });
        expect(entries).toHaveLength(new Set(entries).size);
        if (status !== "suspended") continue;
        const again = await resumed(house, world.giving);
        expect({ at, ...again }).toEqual({ at, status: "completed", output: CALM.output, open: 0 });
      }
    },
  );
});
