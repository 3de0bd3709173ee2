import { describe, expect, test } from "vitest";
import type { Agent } from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, done, FakeHeadcount, FakeLedger, turns } from "../support/helpers.ts";

describe("J4: a limit that nothing keeps", () => {
  const lead = agent("lead", async () => done(""));

  test.each([
    [
      { executionBudget: { maxTurns: 1 } },
      /run\.executionBudget is "\{\\"maxTurns\\":1\}"; expected no limits but deadlineS, .* use a runtime with a ledger: new Runtime\(\{ ledger: /,
    ],
    [{ executionBudget: { maxCostUsd: 1 } }, /a runtime with a ledger/],
    [
      { spawnBudget: { maxAgents: 2 } },
      /spawnBudget is .*; expected no limits but maxDepth, .* use a runtime with a headcount/,
    ],
    [{ spawnBudget: { maxTotal: 2 } }, /a runtime with a headcount/],
  ])("J4: %o is refused", (options, why) => {
    expect(() => new Runtime().run(lead, "", options)).toThrow(why);
  });

  test("J4: an agent's own is refused too, and so is a hire's", async () => {
    const own = { ...lead, defaults: { executionBudget: { maxTurns: 0 } } };
    expect(() => new Runtime().run(own, "")).toThrow(/a runtime with a ledger/);
    const boss = agent("boss", async (ctx) => {
      await ctx.hire({ agent: lead, input: "", executionBudget: { maxTurns: 1 } });
      return done("");
    });
    expect(await new Runtime().run(boss, "").result).toMatchObject({
      status: "failed",
      error: { code: "INVALID_VALUE", field: "hire.executionBudget" },
    });
  });

  test("J4: what is kept without them is not", async () => {
    const options = { executionBudget: { deadlineS: 5, maxTurns: null }, spawnBudget: { maxDepth: 1 } };
    expect(await new Runtime().run(lead, "", options).result).toMatchObject({ status: "completed" });
  });
});

describe("J4: a run that is resumed where nothing keeps its limits", () => {
  const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("go"))));
  const ledger = (): FakeLedger => new FakeLedger({ maxTurns: 1 });
  const headcount = (): FakeHeadcount => new FakeHeadcount();
  const turn = { executionBudget: { maxTurns: 1 } };

  /** A journal with a run that was closed while it waited. */
  async function parked(ports: RuntimeOptions, options: object, lead: Agent = waits): Promise<MemoryJournal> {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ ...ports, journal });
    runtime.run(lead, "", { ...options, runId: "r" });
    await turns();
    await runtime.close();
    await runtime.deliver("r", "go", "on");
    return journal;
  }

  test.each([
    [{ ledger }, turn, /run\.executionBudget is .*maxTurns.*; expected .* use a runtime with a ledger/],
    // The ledger may have limits of its own.
    [{ ledger }, {}, /runtime options\.ledger is .*; expected a ledger, because run r was started/],
    [{ headcount }, {}, /runtime options\.headcount is .*; expected a headcount, because run r was started/],
  ])("J4: it stays as it is, until it is resumed with %o", async (ports, options, why) => {
    const journal = await parked(ports, options);
    const before = journal.list();
    const without = new Runtime({ journal, agents: [waits] });
    await expect(without.resume("r").result).rejects.toThrow(why);
    expect(journal.list()).toEqual(before);
    const again = new Runtime({ ...ports, journal, agents: [waits] });
    expect(await again.resume("r").result).toMatchObject({ status: "completed", output: "on" });
    // What is over needs nobody to keep it.
    expect(await without.resume("r").result).toMatchObject({ status: "completed", output: "on" });
  });

  test("J4: it can be cancelled there, since it does nothing any more", async () => {
    const journal = await parked({ ledger, headcount }, turn);
    const without = new Runtime({ journal, agents: [waits] });
    await without.cancel("r", "enough");
    expect(await without.resume("r").result).toMatchObject({ status: "cancelled" });
  });

  test("J4: its agent's own ledger keeps them too", async () => {
    const own = { ...waits, defaults: { executionBudget: ledger() } };
    const journal = await parked({}, turn, own);
    const resumed = new Runtime({ journal, agents: [own] });
    expect(await resumed.resume("r").result).toMatchObject({ status: "completed", output: "on" });
  });
});

test("R18: a result names the limits that were kept, and no others", async () => {
  const lead = agent("lead", async () => done(""));
  const runtime = new Runtime({ headcount: () => new FakeHeadcount() });
  const { limits } = await runtime.run(lead, "", { spawnBudget: { maxAgents: 3 } }).result;
  expect(limits).toMatchObject({ spawnBudget: { maxAgents: 3 }, executionBudget: null });
});
