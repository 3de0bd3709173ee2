import { describe, expect, test } from "vitest";
import { classifyError, defineTool, isRaviError, RunId, SuspendedError } from "@ravi/kernel";
import { isStop, planLoop, toolLoop } from "@ravi/kernel/loop";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done, FakeLedger, until } from "./support/helpers.ts";

const model = scriptedModel(() => "ok", { record: false });
const talker = agent("talker", async (ctx) => {
  for (;;) await ctx.llm(model, ask("more"));
});
const LIMIT = { dimension: "turns", used: 3, limit: 2, scope: "fake" };

describe("R18: a partial run says which limit stopped it", () => {
  test.each([
    ["without a journal", () => ({})],
    ["on a journal", () => ({ journal: new MemoryJournal() })],
  ])("R18: where the agent let the refusal through, %s", async (_, ports) => {
    const runtime = new Runtime({ ...ports(), ledger: () => new FakeLedger({ maxTurns: 2 }) });
    expect(await runtime.run(talker, "").result).toMatchObject({
      status: "partial",
      stopReason: "budget",
      stoppedBy: LIMIT,
    });
  });

  test("R18: where it landed softly, also by a tool's limit", async () => {
    const note = defineTool({ name: "note", description: "", input: z.object({}), execute: () => "noted" });
    const busy = scriptedModel(() => ({ toolCalls: [{ name: "note", arguments: {} }] }), { record: false });
    const plan = planLoop("Test", { name: "a", model: busy, tools: [note], loopDetection: false });
    const loop = agent("loop", (ctx, inbox) => toolLoop(plan, ctx, inbox));
    const runtime = new Runtime({ ledger: () => new FakeLedger({ maxToolCalls: 1 }) });
    expect(await runtime.run(loop, "").result).toMatchObject({
      stopReason: "budget",
      stoppedBy: { dimension: "toolCalls", limit: 1 },
    });
  });

  test("R18: a child's limit is told to its parent, and is the parent's where it ends with it", async () => {
    const passing = agent("passing", async (ctx) => {
      const outcome = await ctx.hire({ agent: talker, input: "", executionBudget: { maxTurns: 2 } });
      expect(outcome.stoppedBy).toEqual(LIMIT);
      return "result" in outcome ? outcome.result : done("no result");
    });
    const coping = agent("coping", async (ctx) => {
      await ctx.hire({ agent: talker, input: "", executionBudget: { maxTurns: 2 } });
      return done("I did it myself");
    });
    const runtime = new Runtime({ ledger: () => new FakeLedger() });
    expect(await runtime.run(passing, "").result).toMatchObject({ status: "partial", stoppedBy: LIMIT });
    const { status, stoppedBy } = await runtime.run(coping, "").result;
    expect({ status, stoppedBy }).toEqual({ status: "completed", stoppedBy: undefined });
  });

  test("R18: it is on record with the result", async () => {
    const journal = new MemoryJournal();
    const ports = { journal, agents: [talker], ledger: () => new FakeLedger({ maxTurns: 2 }) };
    await new Runtime(ports).run(talker, "", { runId: "r" }).result;
    expect((await new Runtime(ports).resume("r").result).stoppedBy).toEqual(LIMIT);
  });
});

describe("R24: a suspension is recognised by whoever meets it", () => {
  test("R24: as a stop that is not tried again, and nothing of it is on record", async () => {
    const met: unknown[] = [];
    const stubborn = agent("stubborn", async (ctx) => {
      for (let tries = 0; tries < 3; tries++) {
        try {
          await ctx.waitFor("never");
        } catch (error) {
          met.push(error);
          if (isStop(error) || !classifyError(error).retryable) throw error;
        }
      }
      return done("gave up");
    });
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, agents: [stubborn] });
    const handle = runtime.run(stubborn, "", { runId: "r" });
    await until(() => handle.status === "suspended");
    await runtime.close();
    expect((await handle.result).status).toBe("suspended");
    expect(met).toHaveLength(1);
    expect(met[0]).toBeInstanceOf(SuspendedError);
    expect(isRaviError(met[0], "SUSPENDED")).toBe(true);
    expect(journal.load(RunId("r")).some(({ key }) => key.startsWith("wait:"))).toBe(false);
  });
});
