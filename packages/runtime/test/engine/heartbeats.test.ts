import { AgentId, type Agent, type Journal, JournalFailedError, RunId } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { expect, test } from "vitest";
import { RunJournal } from "../../src/engine/run-journal.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { Runtime } from "../../src/runtime.ts";

const BEAT = 15_000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A journal that tells when which run was claimed, or renewed. */
function told(clock: ReturnType<typeof virtualClock>) {
  const claims: string[] = [];
  const journal: Journal = new MemoryJournal({ clock });
  const claim = journal.claim.bind(journal);
  journal.claim = (runId, owner, ttlMs) => {
    claims.push(`${runId} at ${clock.now()}`);
    return claim(runId, owner, ttlMs);
  };
  return { journal, claims };
}

test("R24: many claimed runs share one timer, and the last that is released takes it along", async () => {
  const clock = virtualClock();
  const { journal } = told(clock);
  const runs: RunJournal[] = [];
  for (let n = 0; n < 50; n++) runs.push(await RunJournal.claim(journal, RunId(`run-${n}`), "me", clock));
  await turn();
  expect(clock.pending).toBe(1);
  await clock.advance(10 * BEAT);
  expect(clock.pending).toBe(1);
  const last = runs.pop();
  for (const run of runs) await run.release();
  expect(clock.pending).toBe(1);
  await last?.release();
  expect(clock.pending).toBe(0);
  await clock.advance(BEAT);
  expect(clock.pending).toBe(0);
});

test("a run that is over in the turn in which it began has set no timer", async () => {
  const clock = virtualClock();
  let set = 0;
  const counting = {
    now: () => clock.now(),
    setTimer: (callback: () => void, delayMs: number) => {
      set++;
      return clock.setTimer(callback, delayMs);
    },
  };
  const journal = new MemoryJournal({ clock });
  for (let n = 0; n < 20; n++) {
    const run = await RunJournal.claim(journal, RunId(`run-${n}`), "me", counting);
    await run.release();
  }
  await turn();
  expect(set).toBe(0);
});

test("R24: each run is renewed a beat after it was claimed or renewed, whenever others were", async () => {
  const clock = virtualClock();
  const { journal, claims } = told(clock);
  const one = await RunJournal.claim(journal, RunId("one"), "me", clock);
  await clock.advance(5_000);
  const two = await RunJournal.claim(journal, RunId("two"), "me", clock);
  await clock.advance(2 * BEAT);
  expect(claims).toEqual([
    "one at 0",
    "two at 5000",
    "one at 15000",
    "two at 20000",
    "one at 30000",
    "two at 35000",
  ]);
  await one.release();
  await clock.advance(BEAT);
  expect(claims.slice(6)).toEqual(["two at 50000"]);
  await two.release();
  expect(clock.pending).toBe(0);
});

test("R24: a claim that is not renewed lasts for 30 seconds, so that one beat may be late", async () => {
  const clock = virtualClock();
  const journal = new MemoryJournal({ clock });
  // Without timers there is no beat.
  const run = await RunJournal.claim(journal, RunId("run"), "me", { now: () => clock.now() });
  await clock.advance(29_999);
  expect(journal.claim(RunId("run"), "another", 1_000)).toBeNull();
  await clock.advance(1);
  expect(journal.claim(RunId("run"), "another", 1_000)).not.toBeNull();
  await run.release();
});

test("R24: a run that was taken over is renewed no more and writes no more, and others go on", async () => {
  const clock = virtualClock();
  const { journal, claims } = told(clock);
  const [lost, kept] = [RunId("lost"), RunId("kept")];
  const mine = await RunJournal.claim(journal, lost, "me", clock);
  const other = await RunJournal.claim(journal, kept, "me", clock);
  await journal.delete(lost);
  await journal.claim(lost, "somebody", 10 * BEAT);
  await clock.advance(3 * BEAT);
  expect(() => mine.append([])).toThrow(expect.objectContaining({ code: "JOURNAL_LOCKED" }));
  expect(claims.filter((claim) => claim.startsWith("lost at"))).toHaveLength(3);
  expect(claims.filter((claim) => claim.startsWith("kept at"))).toHaveLength(4);
  await other.release();
  expect(clock.pending).toBe(0);
  await mine.release();
});

test("R24: a clock that is set back stops no heart", async () => {
  const clock = virtualClock({ now: 1_000_000 });
  let back = 0;
  const skewed = {
    now: () => clock.now() - back,
    setTimer: (callback: () => void, delayMs: number) => clock.setTimer(callback, delayMs),
  };
  const { journal, claims } = told(clock);
  const run = await RunJournal.claim(journal, RunId("one"), "me", skewed);
  await turn();
  back = 500_000;
  await clock.advance(2 * BEAT);
  expect(claims).toHaveLength(3);
  await run.release();
  expect(clock.pending).toBe(0);
});

test("R24: a heartbeat that comes after the run was taken over and finished gives the claim back", async () => {
  const clock = virtualClock();
  const journal = new MemoryJournal({ clock, keepEnded: 0 });
  const run = await RunJournal.claim(journal, RunId("run"), "me", clock);
  // Whoever took over has finished it, and it is gone.
  journal.delete(RunId("run"));
  await clock.advance(BEAT);
  expect(run.isLost).toBe(true);
  expect(journal.claim(RunId("run"), "another", 1_000)).not.toBeNull();
  await run.release();
});

/** Waits for a signature, for ever if nobody signs. */
const waiting: Agent = {
  id: AgentId("waiting"),
  async run(ctx) {
    const signed = await ctx.waitFor("signature");
    return { status: "completed", output: String(signed), stopReason: "done" };
  },
};

test("R24: a run that waits for an answer ends here once another process has taken it over", async () => {
  const clock = virtualClock();
  const { journal } = told(clock);
  const handle = new Runtime({ journal, clock }).run(waiting, "", { runId: "taken" });
  const ended = handle.result.then(
    ({ status }) => status,
    (error: unknown) => error,
  );
  await turn();
  // What the other one finds when this process stood still for too long.
  await journal.delete(RunId("taken"));
  await journal.claim(RunId("taken"), "somebody", 10 * BEAT);
  await clock.advance(BEAT);
  expect(handle.status).toBe("failed");
  expect(await ended).toMatchObject({ code: "JOURNAL_LOCKED" });
  expect(clock.pending).toBe(0);
});

test.each([
  ["a lock of another process", new JournalFailedError({ what: "locked", final: false, cause: "busy" })],
  ["a store that cannot be reached", new Error("ECONNRESET")],
])("R24: a heartbeat that fails for %s is not the end of its run", async (_, fault) => {
  const clock = virtualClock();
  const { journal, claims } = told(clock);
  const runtime = new Runtime({ journal, clock });
  const handle = runtime.run(waiting, "", { runId: "one" });
  await turn();
  const claim = journal.claim.bind(journal);
  const claimAgain = (): never => {
    journal.claim = claim;
    throw fault;
  };
  journal.claim = claimAgain;
  await clock.advance(3 * BEAT);
  expect(claims).toEqual(["one at 0", "one at 30000", "one at 45000"]);
  await runtime.deliver("one", "signature", "Ada");
  expect(await handle.result).toMatchObject({ status: "completed", output: "Ada" });
  expect(clock.pending).toBe(0);
});

test("R24: a heartbeat that finds the journal failed for good ends a run that waits", async () => {
  const clock = virtualClock();
  const { journal } = told(clock);
  const handle = new Runtime({ journal, clock }).run(waiting, "", { runId: "one" });
  const ended = handle.result.catch((error: unknown) => error);
  await turn();
  const fault = new JournalFailedError({ what: "full", final: true, cause: "disk" });
  const failing = (): never => {
    throw fault;
  };
  journal.claim = failing;
  await clock.advance(BEAT);
  expect(handle.status).toBe("failed");
  expect(await ended).toBe(fault);
  expect(clock.pending).toBe(0);
});

test("R24: a run that is taken over while it waits to be started again after a crash ends here", async () => {
  const clock = virtualClock();
  const { journal } = told(clock);
  let goes = 0;
  let stoppedFrom = 0;
  const crashing: Agent = {
    id: AgentId("crashing"),
    async run(ctx, inbox) {
      if (goes++ === 0) throw new Error("a bug of its own");
      // It is told before it can do anything that the other process does too.
      if (ctx.signal.aborted) stoppedFrom = goes;
      return waiting.run(ctx, inbox);
    },
  };
  const restart = { shouldRetry: () => true, delayMs: () => 2 * BEAT, reset: () => {} };
  const handle = new Runtime({ journal, clock, restart }).run(crashing, "", { runId: "taken" });
  const ended = handle.result.catch((error: unknown) => error);
  await turn();
  const lost = (): null => null;
  journal.claim = lost;
  await clock.advance(3 * BEAT);
  await turn();
  expect(handle.status).toBe("failed");
  expect(await ended).toMatchObject({ code: "JOURNAL_LOCKED" });
  expect(stoppedFrom).toBe(2);
  expect(clock.pending).toBe(0);
});
