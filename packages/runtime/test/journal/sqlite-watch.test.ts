import { type Agent, AgentId, type Clock, RunId } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { expect, test, vi } from "vitest";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { start } from "./helpers/process.ts";

const [ONE, TWO] = [RunId("one"), RunId("two")];

/** Listens to a run; `told` resolves when it was called after it was asked for. */
function listener(journal: SqliteJournal, run: RunId) {
  let next = Promise.withResolvers<void>();
  let count = 0;
  const watch = journal.watch(run, () => {
    count++;
    next.resolve();
  });
  return {
    stop: watch.stop,
    get count() {
      return count;
    },
    told: () => {
      next = Promise.withResolvers<void>();
      return next.promise;
    },
  };
}

const ids = (journal: SqliteJournal, run: RunId): string[] => journal.items(run, 0).map(({ id }) => id);

// Nothing here looks by itself: without being told, these would wait until the runner gives up.
test(
  "R24: what another process posts is told to those who listen to that run, again and again, and to nobody else",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    const poster = start("poster.ts", [directory]);
    const [one, two] = [listener(journal, ONE), listener(journal, TWO)];
    // Each is told once in any case, which shows that both have been looked for.
    await Promise.all([one.told(), two.told()]);
    const before = two.count;
    for (const id of ["a", "b", "c"]) {
      const told = one.told();
      poster.say(`one ${id}`);
      await told;
      expect(ids(journal, ONE).at(-1)).toBe(id);
    }
    expect(two.count).toBe(before);
    const told = two.told();
    poster.say("two d");
    await told;
    expect(ids(journal, TWO)).toEqual(["d"]);
    one.stop();
    two.stop();
    poster.hush();
    expect(await poster.ended).toMatchObject({ code: 0, stderr: "" });
    await journal.close();
  },
);

test(
  "R24: what was posted by another process just before somebody began to listen is told as well",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    const poster = start("poster.ts", [directory]);
    poster.say("one early");
    await poster.heard(1);
    const one = listener(journal, ONE);
    await one.told();
    expect(ids(journal, ONE)).toEqual(["early"]);
    one.stop();
    await journal.close();
  },
);

test(
  "R24: a post that takes the place of a deleted one in the file is told too",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    const poster = start("poster.ts", [directory]);
    const two = listener(journal, TWO);
    await two.told();
    const told = two.told();
    poster.say("two a");
    await told;
    // Both before the next look, most often: the row of the second has the number that the first one's had.
    const again = two.told();
    poster.say("delete two");
    poster.say("two b");
    await again;
    // The deletion may be told on its own.
    while (ids(journal, TWO).at(-1) !== "b") await two.told();
    expect(ids(journal, TWO)).toEqual(["b"]);
    two.stop();
    await journal.close();
  },
);

test(
  "R24: a busy run hears of another process's wish to cancel it, though no timer of its own fires",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    const busy: Agent = {
      id: AgentId("busy"),
      run: (ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", reject)),
    };
    // Its heart never beats, and nobody looks by that clock.
    const runtime = new Runtime({ journal, clock: virtualClock() });
    const { result } = runtime.run(busy, "go", { runId: ONE });
    start("poster.ts", [directory]).say("cancel one");
    expect(await result).toMatchObject({ status: "cancelled" });
    await runtime.close();
    await journal.close();
  },
);

test("who has left is told nothing more, and the same function may listen twice", async () => {
  const journal = SqliteJournal.open(temporaryDirectory());
  let count = 0;
  const listen = (): void => void count++;
  const [first, second] = [journal.watch(ONE, listen), journal.watch(ONE, listen)];
  const post = (id: string) => journal.post(ONE, { id, kind: "signal", name: "n", value: null, at: 1 });
  await post("a");
  expect(count).toBe(2);
  first.stop();
  first.stop();
  await post("b");
  expect(count).toBe(3);
  second.stop();
  await post("c");
  expect(count).toBe(3);
  await journal.close();
});

test("a process that listens ends by itself all the same", { timeout: 60_000 }, async () => {
  const directory = temporaryDirectory();
  const listening = start("listener.ts", [directory, ONE]);
  expect(await listening.ended).toEqual({ code: 0, signal: null, stderr: "" });
  expect(listening.lines).toEqual(["listening"]);
});

test(
  "R24: a process with a run that waits lives until another process has answered",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const waiting = start("waiter.ts", [directory, ONE]);
    await waiting.heard(1);
    start("poster.ts", [directory]).say("answer one");
    expect(await waiting.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(waiting.lines).toEqual(["waiting", "yes"]);
  },
);

test("runs that wait set no timers of their own: one look at the file is for all of them", async () => {
  const journal = SqliteJournal.open(temporaryDirectory());
  const clock = virtualClock();
  const delays: number[] = [];
  const counting: Clock = {
    now: () => clock.now(),
    setTimer: (act, delay) => {
      delays.push(delay);
      return clock.setTimer(act, delay);
    },
  };
  const waiter: Agent = {
    id: AgentId("waiter"),
    run: async (ctx) => ({
      status: "completed",
      output: String(await ctx.waitFor("n")),
      stopReason: "done",
    }),
  };
  const runtime = new Runtime({ journal, clock: counting });
  const runs = [ONE, TWO].map((runId) => runtime.run(waiter, "go", { runId }));
  await vi.waitUntil(() => runs.every(({ status }) => status === "suspended"));
  await clock.advance(1_000);
  expect(delays.filter((delay) => delay < 1_000)).toEqual([]);
  for (const { runId } of runs) await runtime.deliver(runId, "n", "yes");
  expect(await Promise.all(runs.map(async ({ result }) => (await result).output))).toEqual(["yes", "yes"]);
  await runtime.close();
  await journal.close();
});
