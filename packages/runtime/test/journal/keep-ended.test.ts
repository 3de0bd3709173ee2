import { describe, expect, test } from "vitest";
import { type Agent, AgentId, ExecId, InvalidValueError, RunId } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done } from "../support/helpers.ts";

const echo: Agent = agent("echo", async (_, { input }) => done(input));
const failing: Agent = agent("failing", () => Promise.reject(new Error("no")));
const waiting: Agent = {
  id: AgentId("waiting"),
  async run(ctx) {
    return done(String(await ctx.waitFor("go")));
  },
};

const ids = (journal: MemoryJournal): string[] => journal.list().map(({ runId }) => runId);

describe("a journal in memory that lets go of runs", () => {
  test("R24: keeps so many that have ended, the newest of them, whatever came of them", async () => {
    const journal = new MemoryJournal({ keepEnded: 2 });
    const runtime = new Runtime({ journal });
    for (const [n, each] of [echo, failing, echo, failing].entries()) {
      const { status } = await runtime.run(each, "go", { runId: `r${n}` }).result;
      expect(status).toBe(each === echo ? "completed" : "failed");
    }
    expect(ids(journal)).toEqual(["r2", "r3"]);
    expect(journal.load(RunId("r1"))).toEqual([]);
    expect(journal.load(RunId("r3")).length).toBeGreaterThan(0);
    // What is kept is the same as ever.
    expect((await runtime.resume("r2").result).output).toBe("go");
    expect(ids(journal)).toEqual(["r2", "r3"]);
  });

  test("R24: with none kept a run is gone as soon as it is over, and its id is free", async () => {
    const journal = new MemoryJournal({ keepEnded: 0 });
    const runtime = new Runtime({ journal, agents: [echo] });
    for (const input of ["one", "two"])
      expect((await runtime.run(echo, input, { runId: "r" }).result).output).toBe(input);
    expect(ids(journal)).toEqual([]);
    await expect(runtime.resume("r").result).rejects.toThrow(/r/);
  });

  test("R24: one that waits, or that somebody holds, has not ended", async () => {
    const journal = new MemoryJournal({ keepEnded: 0 });
    const runtime = new Runtime({ journal, agents: [waiting] });
    const run = runtime.run(waiting, "", { runId: "w" });
    await expect.poll(() => run.status).toBe("suspended");
    expect(ids(journal)).toEqual(["w"]);
    await runtime.run(echo, "", { runId: "e" }).result;
    expect(ids(journal)).toEqual(["w"]);
    await runtime.deliver("w", "go", "went");
    expect((await run.result).output).toBe("went");
    expect(ids(journal)).toEqual([]);
  });

  test("R24: a run that is looked at again counts as ended last", async () => {
    const journal = new MemoryJournal({ keepEnded: 2 });
    const runtime = new Runtime({ journal });
    for (const runId of ["a", "b"]) await runtime.run(echo, "", { runId }).result;
    await runtime.resume("a").result;
    await runtime.run(echo, "", { runId: "c" }).result;
    expect(ids(journal)).toEqual(["a", "c"]);
  });

  test("R24: nothing can be posted for one that was let go of, so nothing reaches the next of its name", async () => {
    const journal = new MemoryJournal({ keepEnded: 0 });
    const runtime = new Runtime({ journal, agents: [waiting] });
    await runtime.run(echo, "", { runId: "x" }).result;
    await expect(runtime.deliver("x", "go", "stale")).rejects.toThrow(/runId is "x"/);
    await expect(runtime.send("x", "stale")).rejects.toThrow(InvalidValueError);
    const run = runtime.run(waiting, "", { runId: "x" });
    await expect.poll(() => run.status).toBe("suspended");
    await runtime.deliver("x", "go", "fresh");
    expect((await run.result).output).toBe("fresh");
  });

  test("R24: asking for one that is gone leaves nothing behind", async () => {
    const journal = new MemoryJournal({ keepEnded: 0 });
    const runtime = new Runtime({ journal, agents: [echo] });
    for (const id of ["a", "b", "c"]) await expect(runtime.resume(id).result).rejects.toThrow(id);
    expect(ids(journal)).toEqual([]);
  });

  test("R24: epochs only grow, whichever run was let go of first", () => {
    const journal = new MemoryJournal();
    const [low, high] = [RunId("low"), RunId("high")];
    journal.claim(low, "me", 1);
    for (let n = 0; n < 3; n++) {
      const { epoch } = journal.claim(high, `owner ${n}`, 1_000) ?? { epoch: 0 };
      journal.release(high, epoch);
    }
    journal.delete(high);
    journal.delete(low);
    expect(journal.claim(high, "me", 1_000)?.epoch).toBeGreaterThan(3);
  });

  test("R24: deleting one leaves no trace of it", () => {
    const journal = new MemoryJournal({ keepEnded: 1 });
    const entry = (status: string) => ({
      exec: ExecId(RunId("x")),
      key: "run:status#1",
      attempt: 1,
      phase: "note" as const,
      at: 1,
      body: { status },
    });
    for (const id of ["a", "b"]) {
      const { epoch } = journal.claim(RunId(id), "me", 1_000) ?? { epoch: 0 };
      journal.append(RunId(id), epoch, [entry("completed")]);
      if (id === "a") journal.delete(RunId(id));
      journal.release(RunId(id), epoch);
    }
    expect(ids(journal)).toEqual(["b"]);
  });

  test.each([-1, 1.5, Number.NaN, Infinity])("R24: %s is no number of runs", (keepEnded) => {
    expect(() => new MemoryJournal({ keepEnded })).toThrow(InvalidValueError);
    expect(() => new MemoryJournal({ keepEnded })).toThrow(/keepEnded/);
  });
});
