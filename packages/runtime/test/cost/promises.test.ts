import { describe, expect, test } from "vitest";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { perTurn, promisesOf, ticksOf } from "./counting.ts";
import { everything } from "./everything.ts";
import { worker } from "./worker.ts";

// Counts and no times, so that a machine under load says the same as an idle one. A turn is two effects: a model call and a tool
// call. An `await` counts as a promise (see `promisesOf`), and so do the model's own. Lower a bound when a change earns it; raise it
// only with a reason.

const ran = (turns: number, options: () => RuntimeOptions) => async (): Promise<void> => {
  const { output } = await new Runtime(options()).run(worker(turns), "go").result;
  expect(output).toBe("done");
};
const bare = (turns: number) => ran(turns, () => ({}));
const full = (turns: number) => ran(turns, () => everything(new MemoryJournal()));

describe("what a turn costs, and a run beside its turns", () => {
  test("bare, it makes few promises", async () => {
    const { turn, run } = await perTurn((turns) => promisesOf(bare(turns)));
    expect(turn).toBeLessThanOrEqual(2);
    expect(run).toBeLessThanOrEqual(10);
  });

  test("bare, it waits few times", async () => {
    const { turn, run } = await perTurn((turns) => ticksOf(bare(turns)));
    expect(turn).toBeLessThanOrEqual(1);
    expect(run).toBeLessThanOrEqual(5);
  });

  test("with everything on, it makes more, and no more than that", async () => {
    const { turn, run } = await perTurn((turns) => promisesOf(full(turns)));
    expect(turn).toBeLessThanOrEqual(4);
    expect(run).toBeLessThanOrEqual(13);
  });

  test("with everything on, it waits more often, and no more than that", async () => {
    const { turn, run } = await perTurn((turns) => ticksOf(full(turns)));
    expect(turn).toBeLessThanOrEqual(3);
    expect(run).toBeLessThanOrEqual(8);
  });

  test("a counter that sees nothing would hold every bound: one more await is seen", async () => {
    const idle = async (): Promise<void> => {};
    const waiting = async (): Promise<void> => {
      await Promise.resolve();
    };
    expect(await promisesOf(waiting)).toBeGreaterThan(await promisesOf(idle));
    expect(await ticksOf(waiting)).toBe((await ticksOf(idle)) + 1);
  });
});
