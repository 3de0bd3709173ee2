import { describe, expect, test } from "vitest";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { isRaviError, type Journal, type JournalEntry, RunId } from "@ravi/kernel";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { temporaryDirectory } from "../journal/helpers/directory.ts";
import { agent, ask, done, turns, until, within } from "../support/helpers.ts";

// T4 names the disk among the places where a run may wait. Who has stopped a run does not wait for a journal that never answers, and
// what it answers later starts nothing.

type Call = "append" | "claim" | "load" | "release" | "items" | "post";

/** A journal that leaves that call unanswered the nth time; every later one too, where it is dead. */
function hanging(call: Call, nth: number, isDead: boolean) {
  const memory = new MemoryJournal();
  const late = Promise.withResolvers<void>();
  const seen = { calls: 0 };
  const answer = memory[call].bind(memory) as (...asked: unknown[]) => unknown;
  const hangs = async (...asked: unknown[]): Promise<unknown> => {
    const n = ++seen.calls;
    if (n === nth || (isDead && n > nth)) await late.promise;
    return answer(...asked);
  };
  const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, { [call]: hangs });
  return { journal, memory, isHanging: () => seen.calls >= nth, answerLate: late.resolve };
}

function team() {
  const seen = { paid: 0 };
  const model = scriptedModel(() => `${++seen.paid}`);
  const child = agent("child", async (ctx) => done(String((await ctx.llm(model, ask("?"))).message.content)));
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("?"));
    await ctx.hire({ kind: "hire", agent: child, input: "" });
    return done("all");
  });
  return { lead, seen };
}

/** Cancelled while it hangs: what came of it, what was paid until then, and once the journal answers after all. */
async function stopped(call: Call, nth: number, isDead: boolean, stop: "cancel" | "close" = "cancel") {
  const clock = virtualClock({ now: 0 });
  const { journal, memory, isHanging, answerLate } = hanging(call, nth, isDead);
  const { lead, seen } = team();
  const runtime = new Runtime({ journal, clock });
  const handle = runtime.run(lead, "", { runId: "r" });
  const came = handle.result.then(
    ({ status }) => status,
    (error: unknown) => (isRaviError(error) ? error.code : String(error)),
  );
  await until(isHanging);
  await turns(3);
  const { paid } = seen;
  const closing = stop === "close" ? runtime.close() : handle.cancel("stop");
  for (let n = 0; n < 8; n++) await clock.advance(500);
  const end = await within(came);
  await closing;
  expect(clock.pending).toBe(0);
  answerLate();
  await turns();
  expect(seen.paid).toBe(paid);
  expect(memory.claim(RunId("r"), "another", 1)).not.toBeNull();
  return end;
}

describe("T4: a journal that never answers", () => {
  // 1: its start; 2, 3: its model call; 4: its hire; 5, 6: the child's model call; 7: the end of the hire; 8: its status.
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "takes entry %i and those after it: the run fails with it",
    async (nth) => {
      expect(await stopped("append", nth, true)).toBe("JOURNAL_FAILED");
      expect(await stopped("append", nth, true, "close")).toBe("JOURNAL_FAILED");
    },
  );

  test("is said to have given no answer, and not to take no more writes", async () => {
    const clock = virtualClock({ now: 0 });
    const { journal, memory, isHanging, answerLate } = hanging("append", 2, true);
    const handle = new Runtime({ journal, clock }).run(team().lead, "", { runId: "r" });
    const came = handle.result.catch((error: unknown) => error);
    await until(isHanging);
    handle.cancel("stop");
    for (let n = 0; n < 8; n++) await clock.advance(500);
    expect(await within(came)).toMatchObject({
      message:
        "journal.append for run r: no answer within 1000 ms after the run was stopped; how much of the run is recorded is not known; resume it to find out",
      retryable: false,
    });
    answerLate();
    await turns();
    const again = new Runtime({ journal: memory, clock, agents: [team().lead] }).resume("r");
    expect(await within(again.result)).toMatchObject({ status: "completed" });
  });

  test.each([2, 3, 4, 5, 6, 7])("takes entry %i, and answers again: the run is cancelled", async (nth) => {
    expect(await stopped("append", nth, false)).toBe("cancelled");
  });

  test.each(["claim", "load"] as const)("is asked for a %s: the run fails with it", async (call) => {
    expect(await stopped(call, 1, true)).toBe("JOURNAL_FAILED");
    expect(await stopped(call, 1, true, "close")).toBe("JOURNAL_FAILED");
  });

  test("is asked for a load, and answers before the claim is given back: nothing is begun", async () => {
    const clock = virtualClock({ now: 0 });
    const memory = new MemoryJournal();
    const [loads, releases] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, {
      load: (runId: RunId) => loads.promise.then(() => memory.load(runId)),
      release: (runId: RunId, epoch: number) => releases.promise.then(() => memory.release(runId, epoch)),
    });
    const handle = new Runtime({ journal, clock }).run(team().lead, "", { runId: "r" });
    const came = handle.result.catch((error: unknown) => error);
    await turns();
    handle.cancel("stop");
    await clock.advance(1_000);
    await clock.advance(1_000);
    expect(await within(came)).toMatchObject({ code: "JOURNAL_FAILED" });
    loads.resolve();
    await turns();
    releases.resolve();
    await turns();
    expect(memory.load(RunId("r"))).toEqual([]);
  });

  test("is asked for a claim, or an entry, until the run is out of time", async () => {
    for (const call of ["claim", "append"] as const) {
      const clock = virtualClock({ now: 0 });
      const { journal } = hanging(call, 1, true);
      const options = { executionBudget: { deadlineS: 5 } };
      const { result } = new Runtime({ journal, clock }).run(team().lead, "", options);
      const came = result.catch((error: unknown) => error);
      await turns();
      await clock.advance(6_000);
      expect(await within(came)).toMatchObject({ code: "JOURNAL_FAILED" });
      expect(clock.pending).toBe(0);
    }
  });

  test("is given back its claim: what came of the run is known, and given", async () => {
    const clock = virtualClock({ now: 0 });
    const { journal, isHanging } = hanging("release", 1, true);
    const { result } = new Runtime({ journal, clock }).run(team().lead, "", { runId: "r" });
    await until(isHanging);
    await clock.advance(1_000);
    expect(await within(result)).toMatchObject({ status: "completed" });
  });

  test.each(["post", "items"] as const)(
    "is told of a cancellation (%s): it is heard all the same",
    async (call) => {
      const clock = virtualClock({ now: 0 });
      const { journal, isHanging } = hanging(call, 1, true);
      const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("word"))));
      const runtime = new Runtime({ journal, clock });
      const handle = runtime.run(waiting, "", { runId: "r" });
      await until(() => handle.status === "suspended");
      const cancelling = runtime.cancel("r", "stop");
      await until(isHanging);
      expect(await within(handle.result)).toMatchObject({ status: "cancelled" });
      expect(await within(cancelling)).not.toBe("pending");
    },
  );

  test("is asked what was left for a run that is resumed: it is cancelled all the same", async () => {
    const clock = virtualClock({ now: 0 });
    const { journal, isHanging } = hanging("items", 2, true);
    const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("word"))));
    const first = new Runtime({ journal, clock });
    const begun = first.run(waiting, "", { runId: "r" });
    await until(() => begun.status === "suspended");
    await first.close();
    const resumed = new Runtime({ journal, clock, agents: [waiting] }).resume("r");
    await until(isHanging);
    resumed.cancel("stop");
    await clock.advance(1_000);
    expect(await within(resumed.result)).toMatchObject({ status: "cancelled" });
  });
});

test.each(["cancel", "close"] as const)(
  "T4: a journal that writes to a disk is waited for, however fast the clock of a test goes (%s)",
  async (stop) => {
    const clock = virtualClock({ now: 0 });
    await using journal = SqliteJournal.open(temporaryDirectory(), { clock });
    const child = agent("child", async (ctx) => done(String(await ctx.waitFor("word"))));
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(child, { input: "" });
      return done((await ctx.join(handle)).status);
    });
    const runtime = new Runtime({ journal, clock });
    const handle = runtime.run(lead, "", { runId: "r" });
    await until(() => handle.status === "suspended");
    const closing = stop === "close" ? runtime.close() : handle.cancel("stop");
    await clock.advance(60_000);
    const status = stop === "close" ? "suspended" : "cancelled";
    expect(await within(handle.result)).toMatchObject({ status });
    await closing;
    expect(journal.list()).toMatchObject([{ runId: "r", status }]);
  },
);

test("T4: a journal that is slow, but answers, is waited for until the agents that were left are on record", async () => {
  const clock = virtualClock({ now: 0 });
  const memory = new MemoryJournal();
  let ends = 0;
  const journal: Journal = Object.assign(Object.create(memory) as MemoryJournal, {
    async append(runId: RunId, epoch: number, entries: readonly JournalEntry[]) {
      // The ends of the hires come one after the other, each 700 ms after the one before.
      if (entries.some(({ key, phase }) => key.startsWith("hire:") && phase === "end")) {
        const { promise, resolve } = Promise.withResolvers<void>();
        clock.setTimer(resolve, ++ends * 700);
        await promise;
      }
      memory.append(runId, epoch, entries);
    },
  });
  const child = agent("child", async (ctx) => done(String(await ctx.waitFor("word"))));
  const lead = agent("lead", async (ctx) => {
    for (let n = 0; n < 6; n++) await ctx.spawn(child, { input: "" });
    return done("all");
  });
  const { result } = new Runtime({ journal, clock }).run(lead, "", { runId: "r" });
  const recorded = result.then(({ status }) => ({
    status,
    ends: memory.load(RunId("r")).filter(({ key, phase }) => key.startsWith("hire:") && phase === "end")
      .length,
  }));
  await until(() => ends === 6);
  for (let n = 0; n < 12; n++) await clock.advance(500);
  expect(await within(recorded)).toEqual({ status: "completed", ends: 6 });
});

test("R16: whose hire was not on record yet when the run was stopped has ended with it", async () => {
  const clock = virtualClock({ now: 0 });
  // After the start of the run, and begin and end of a model call.
  const { journal, isHanging, answerLate } = hanging("append", 4, false);
  const handle = new Runtime({ journal, clock }).run(team().lead, "");
  await until(isHanging);
  handle.cancel("stop");
  for (let n = 0; n < 8; n++) await clock.advance(500);
  const { status, agents = [] } = await handle.result;
  expect([status, ...agents.map((one) => one.status)]).toEqual(["cancelled", "cancelled", "cancelled"]);
  answerLate();
  await turns();
});
