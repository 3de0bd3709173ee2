import { expect, test } from "vitest";
import type { Planted } from "../../src/killed/program.ts";
import { play } from "./killed/scene.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;

// What the runs do follows from the seed. At which moment a process is killed does not: that is up to the machine.
const SEEDS = LONG ? Array.from({ length: 30 }, () => Math.floor(Math.random() * 2 ** 31)) : [11];

test.each(SEEDS)(
  "T5: whenever processes are killed, stopped or started twice, runs end, pay once and repeat nothing unasked (seed %i)",
  { timeout: 1_000_000 },
  async (seed) => {
    const size = LONG ? { runs: 12, kills: 10, hasZombies: true } : { runs: 4, kills: 4 };
    expect(await play({ seed, ...size })).toEqual([]);
  },
);

// Whether a process is killed beside the fault is a matter of luck, so it gets a few chances.
test.each<Planted>(LONG ? ["a forgotten end", "a tool that is repeated"] : [])(
  "T5: the same notices %s",
  { timeout: 1_000_000 },
  async (planted) => {
    let found: readonly string[] = [];
    for (let seed = 1; seed <= 10 && found.length === 0; seed++)
      found = await play({ seed, runs: 12, kills: 10, planted });
    expect(found).not.toEqual([]);
  },
);
