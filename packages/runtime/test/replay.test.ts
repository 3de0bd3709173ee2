import { describe, expect, test } from "vitest";
import {
  AgentId,
  type Agent,
  defineTool,
  type JournalRecord,
  NonDeterminismError,
  type RunContext,
  RunId,
  type RunResult,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import * as z from "zod";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import { team, type TeamOptions } from "./team.ts";

const RUN = "r1";

async function recorded(
  options: TeamOptions = {},
): Promise<{ records: readonly JournalRecord[]; result: RunResult; paid: { calls: number; tools: number } }> {
  const journal = new MemoryJournal();
  const { lead, paid } = team(options);
  const runtime = new Runtime({ journal, clock: virtualClock({ now: 1_000 }) });
  const result = await runtime.run(lead, "2 3 4", { runId: RUN, sessionId: "s" }).result;
  return { records: journal.load(RunId(RUN)), result, paid };
}

/** A journal as a crash right after its n-th entry leaves it. */
async function cutAfter(records: readonly JournalRecord[], count: number): Promise<MemoryJournal> {
  const journal = new MemoryJournal();
  const claim = journal.claim(RunId(RUN), "crashed", 1);
  if (claim === null) throw new Error("a fresh journal is not free");
  journal.append(
    RunId(RUN),
    claim.epoch,
    records
      .slice(0, count)
      .map(({ exec, key, attempt, phase, at, body }) => ({ exec, key, attempt, phase, at, body })),
  );
  journal.release(RunId(RUN), claim.epoch);
  return journal;
}

function ends(records: readonly JournalRecord[], kind: string): number {
  return records.filter(({ key, phase }) => key.startsWith(kind) && phase === "end").length;
}

describe("T5, T6: a run that crashed after any entry of its journal", () => {
  test("T5: goes on to the same output, and no recorded call is made again", async () => {
    const whole = await recorded();
    expect(whole.result.status).toBe("completed");
    expect(whole.result.output).toMatch(/: 2 squared is 4, 3 squared is 9, 4 squared is 16$/);
    expect(whole.paid).toEqual({ calls: 6, tools: 3 });
    expect(whole.records.length).toBeGreaterThan(25);

    const clockRead = whole.records.findIndex(({ key }) => key.startsWith("now:")) + 1;
    for (let count = clockRead; count <= whole.records.length; count++) {
      const before = whole.records.slice(0, count);
      const journal = await cutAfter(whole.records, count);
      const { lead, worker, paid } = team();
      const runtime = new Runtime({
        journal,
        agents: [lead, worker],
        clock: virtualClock({ now: 9_999_999 }),
      });
      const result = await runtime.resume(RUN).result;
      expect({ count, output: result.output }).toEqual({ count, output: whole.result.output });
      expect(paid.calls).toBe(6 - ends(before, "llm:"));
      expect(paid.tools).toBe(3 - ends(before, "tool:"));
      expect(result.usage).toEqual(whole.result.usage);
    }
  });

  test("T5: what was in flight is reported as in doubt, and nothing else is", async () => {
    const { records } = await recorded();
    for (let count = 1; count <= records.length; count++) {
      const before = records.slice(0, count);
      const open = before.filter(
        ({ exec, key, phase }) =>
          phase === "begin" &&
          !key.startsWith("hire:") &&
          !before.some((other) => other.exec === exec && other.key === key && other.phase === "end"),
      );
      const { lead, worker } = team();
      const runtime = new Runtime({ journal: await cutAfter(records, count), agents: [lead, worker] });
      const { inDoubt } = await runtime.resume(RUN).result;
      if (count === records.length) continue;
      expect({ count, inDoubt: [...(inDoubt ?? [])].toSorted() }).toEqual({
        count,
        inDoubt: open.map(({ exec, key }) => `${exec}:${key}`).toSorted(),
      });
    }
  });

  test("T5: a tool that is not idempotent and was in flight is never repeated until somebody decides", async () => {
    const { records } = await recorded({ idempotent: false });
    const at = records.findIndex(({ key, phase }) => key.startsWith("tool:") && phase === "begin") + 1;
    const begun = records[at - 1];
    const key = `${begun?.exec}:${begun?.key}`;

    for (const [decision, output, calls] of [
      ["retry", "2 squared is 4", 1],
      ["skip", "2 squared is error: square was interrupted by a crash", 0],
      ["fail", "failed, 3 squared is 9", 0],
    ] as const) {
      const journal = await cutAfter(records, at);
      const { lead, worker, paid } = team({ idempotent: false });
      const runtime = new Runtime({ journal, agents: [lead, worker] });
      const suspended = await runtime.resume(RUN).result;
      expect(suspended).toMatchObject({ status: "suspended", error: { code: "NEEDS_DECISION" } });
      expect(suspended.error?.message).toContain(key);
      const before = paid.tools;

      const decided = await runtime.resume(RUN, { decisions: { [key]: decision } }).result;
      expect(decided.status).toBe("completed");
      expect(decided.output).toContain(output);
      // The other two workers' calls were not in flight, and are made once.
      expect(paid.tools - before).toBeLessThanOrEqual(2 + calls);
      const again = await new Runtime({ journal, agents: [lead, worker] }).resume(RUN).result;
      expect(again.output).toBe(decided.output);
    }
  });

  test("T6: an agent that takes another way than its record is stopped before anything is paid", async () => {
    const { records } = await recorded();
    const journal = await cutAfter(records, records.length - 1);
    const model = scriptedModel(["never asked"]);
    const changed: Agent = {
      id: AgentId("lead"),
      async run(ctx) {
        const { message } = await ctx.llm(model, { messages: [{ role: "user", content: "something new" }] });
        return { status: "completed", output: message.role, stopReason: "done" };
      },
    };
    const result = await new Runtime({ journal, agents: [changed] }).resume(RUN).result;
    expect(result).toMatchObject({ status: "suspended", error: { code: "NON_DETERMINISM" } });
    expect(result.error).toBeInstanceOf(NonDeterminismError);
    expect(model.calls).toEqual([]);
  });

  test.each([
    ["another prompt", "something else", "hello"],
    ["another tool argument", "hello", "something else"],
  ])(
    "T6: %s under a recorded key is a changed step: refused, and nothing is called",
    async (_, prompt, word) => {
      const model = scriptedModel(() => "ok");
      let shouted = 0;
      const shout = defineTool({
        name: "shout",
        description: "",
        input: z.object({ word: z.string() }),
        idempotent: true,
        execute: () => ++shouted,
      });
      const asks = (question: string, said: string): Agent => ({
        id: AgentId("asks"),
        async run(ctx) {
          await ctx.llm(model, { messages: [{ role: "user", content: question }] });
          await ctx.tool({ id: "c", name: "shout", arguments: JSON.stringify({ word: said }) }, shout);
          await ctx.llm(model, { messages: [{ role: "user", content: "and then?" }] });
          return { status: "completed", output: "", stopReason: "done" };
        },
      });
      const journal = new MemoryJournal();
      await new Runtime({ journal }).run(asks("hello", "hello"), "", { runId: RUN }).result;
      const records = journal.load(RunId(RUN));
      const [calls, shouts] = [model.calls.length, shouted];
      const crashed = cutAfter(records, records.length - 1);
      const result = await new Runtime({ journal: await crashed, agents: [asks(prompt, word)] }).resume(RUN)
        .result;
      expect(result).toMatchObject({ status: "suspended", error: { code: "NON_DETERMINISM" } });
      expect(result.error?.message).toContain("recorded another request, but now asks for the call to ");
      expect([model.calls.length, shouted]).toEqual([calls, shouts]);
    },
  );

  test.each([
    ["a tool call before the model call", ["tool", "llm", "hire"]],
    ["a hire before the tool call", ["llm", "hire", "tool"]],
    ["a hire before the model call", ["hire", "llm", "tool"]],
    ["a batch before the model call", ["batch", "llm", "hire", "tool"]],
  ])(
    "T6: %s, although the record has them the other way round: refused, and nothing is called",
    async (_, order) => {
      let made = 0;
      const model = scriptedModel(() => (made++, "ok"));
      const shout = defineTool({
        name: "shout",
        description: "",
        input: z.object({}),
        execute: () => ++made,
      });
      const helper: Agent = {
        id: AgentId("helper"),
        run: async () => ({ status: "completed", output: "", stopReason: "done" }),
      };
      const question = { messages: [{ role: "user", content: "hello" }] } as const;
      const call = { id: "c", name: "shout", arguments: "{}" };
      const steps: Record<string, (ctx: RunContext) => unknown> = {
        llm: (ctx) => ctx.llm(model, question),
        tool: (ctx) => ctx.tool(call, shout),
        hire: (ctx) => ctx.hire({ kind: "hire", agent: helper, input: "" }),
        batch: (ctx) => ctx.batch([{ kind: "tool", call: { ...call, id: "d" }, tool: shout }]),
      };
      const does = (names: readonly string[]): Agent => ({
        id: AgentId("does"),
        async run(ctx) {
          for (const name of names) await steps[name]?.(ctx);
          return { status: "completed", output: "", stopReason: "done" };
        },
      });
      const known = ["llm", "tool", "hire", "batch"].filter((name) => order.includes(name));
      const journal = new MemoryJournal();
      await new Runtime({ journal }).run(does(known), "", { runId: RUN }).result;
      const records = journal.load(RunId(RUN));
      made = 0;
      const same = await cutAfter(records, records.length - 1);
      const replayed = await new Runtime({ journal: same, agents: [does(known)] }).resume(RUN).result;
      expect(replayed.status).toBe("completed");
      const crashed = await cutAfter(records, records.length - 1);
      const result = await new Runtime({ journal: crashed, agents: [does(order)] }).resume(RUN).result;
      expect(result).toMatchObject({ status: "suspended", error: { code: "NON_DETERMINISM" } });
      expect(made).toBe(0);
    },
  );

  test("a run that is over gives its result again, without running anything", async () => {
    const journal = new MemoryJournal();
    const { lead, paid } = team();
    const first = await new Runtime({ journal }).run(lead, "5", { runId: RUN }).result;
    const calls = paid.calls;
    const again = await new Runtime({ journal, agents: [lead] }).resume(RUN).result;
    expect(again).toMatchObject({ status: "completed", output: first.output, usage: first.usage });
    expect(paid.calls).toBe(calls);
  });

  test("a worker that does not carry the agent's version says which one is missing", async () => {
    const { records } = await recorded();
    const { lead } = team();
    const runtime = new Runtime({ journal: await cutAfter(records, 5), agents: [{ ...lead, version: "2" }] });
    await expect(runtime.resume(RUN).result).rejects.toThrow(
      "agent lead@1 is not registered; registered agents: lead@2",
    );
  });

  test("a run that another process holds is refused, and so is one that is not on record", async () => {
    const journal = new MemoryJournal({ clock: virtualClock() });
    journal.claim(RunId(RUN), "somebody else", 60_000);
    const { lead } = team();
    await expect(new Runtime({ journal }).run(lead, "1", { runId: RUN }).result).rejects.toMatchObject({
      code: "JOURNAL_LOCKED",
      message: `run ${RUN} is claimed by somebody else (until 1970-01-01T00:01:00.000Z, unless the claim is renewed); wait for it to end, or stop it`,
      expiresAt: 60_000,
    });
    await expect(new Runtime({ journal }).resume("never").result).rejects.toThrow(
      "expected the id of a run in the journal",
    );
  });
});
