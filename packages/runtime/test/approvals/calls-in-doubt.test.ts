import { describe, expect, test } from "vitest";
import {
  type Agent,
  defineTool,
  type JournalRecord,
  type NeedsDecisionError,
  type RestartPolicy,
  RunId,
} from "@ravi/kernel";
import { type Decision, MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import {
  agent,
  closed,
  cut,
  done,
  FakeHeadcount,
  FakeLedger,
  hangingPayer,
  turns,
  until,
  within,
} from "../support/helpers.ts";
import * as z from "zod";
import { RUN_START } from "../../src/journal/facts/run-facts.ts";

test("T5: a decision is for one call, and not for the next in doubt under the same key", async () => {
  const clock = virtualClock();
  const crash = Promise.withResolvers<void>();
  let payments = 0;
  let goes = 0;
  const payer = hangingPayer(() => payments++);
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(payer, { input: "" });
    if (++goes === 2) {
      await crash.promise;
      throw new Error("a bug");
    }
    await ctx.join(handle);
    return done("ok");
  });
  const journal = new MemoryJournal();
  const first = new Runtime({ journal, clock });
  const { result } = first.run(lead, "", { runId: "r" });
  await until(() => payments === 1);
  const closing = first.close();
  await clock.advance(200);
  await closing;
  expect((await result).status).toBe("suspended");

  const restart: RestartPolicy = { shouldRetry: () => true, delayMs: () => 0, reset() {} };
  const second = new Runtime({ journal, clock, restart, agents: [lead] });
  const resumed = second.resume("r", { decisions: { "r/hire:payer#1:tool:pay#1": "retry" } });
  await until(() => payments === 2);
  crash.resolve();
  for (let n = 0; n < 5; n++) await clock.advance(100);
  expect(await within(resumed.result)).toMatchObject({
    status: "suspended",
    error: { code: "NEEDS_DECISION" },
  });
  expect(payments).toBe(2);
});

/** A lead with two workers, each of which pays once. The first time they hang until the gate opens. */
function payers() {
  const begun: Record<string, number> = { a: 0, b: 0 };
  const gate = { current: Promise.withResolvers<string>() };
  const worker = (name: string): Agent =>
    agent(name, async (ctx) => {
      const pay = defineTool({
        name: "pay",
        description: "",
        input: z.object({}),
        async execute() {
          begun[name] = (begun[name] ?? 0) + 1;
          return gate.current.promise;
        },
      });
      const { content } = await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay);
      return done(String(content));
    });
  const lead = agent("lead", async (ctx) => {
    const workers = ["a", "b"].map((name) => ({ kind: "hire", agent: worker(name), input: "x" }) as const);
    const outcomes = await ctx.batch(workers);
    return done(outcomes.map((outcome) => ("result" in outcome ? outcome.result.output : "?")).join(" "));
  });
  return { begun, gate, lead };
}

async function inDoubt() {
  const journal = new MemoryJournal();
  const clock = virtualClock();
  const { begun, gate, lead } = payers();
  const first = new Runtime({ journal, clock });
  const run = first.run(lead, "", { runId: "r" });
  await until(() => begun["a"] === 1 && begun["b"] === 1);
  await closed(first, clock, 1_000);
  expect(await run.result).toMatchObject({ status: "suspended" });
  gate.current = Promise.withResolvers();
  gate.current.resolve("paid");
  const resume = (decisions?: Readonly<Record<string, Decision>>) =>
    new Runtime({ journal, clock, agents: [lead] }).resume("r", { decisions }).result;
  return { begun, resume };
}

const A = "r/hire:a#1:tool:pay#1";

const B = "r/hire:b#1:tool:pay#1";

describe("T5: several calls that are in doubt", () => {
  test("T5: all of them are asked about together, and nothing is made before all of them are decided on", async () => {
    const { begun, resume } = await inDoubt();
    const asked = await resume();
    expect(asked).toMatchObject({
      status: "suspended",
      error: { code: "NEEDS_DECISION", key: "tool:pay#1" },
    });
    expect((asked.error as NeedsDecisionError).pending).toEqual([A, B]);
    expect(asked.error?.message).toContain(`{ "${A}": "retry" | "skip" | "fail", "${B}": `);
    // One after the other leads nowhere, but nothing is paid for it either.
    for (const [decided, open] of [
      [A, B],
      [B, A],
      [A, B],
    ] as const) {
      const again = await resume({ [decided]: "retry" });
      expect(again.status).toBe("suspended");
      expect((again.error as NeedsDecisionError).pending).toEqual([open]);
    }
    expect(begun).toEqual({ a: 1, b: 1 });
    expect(await resume({ [A]: "retry", [B]: "skip" })).toMatchObject({
      status: "completed",
      output: expect.stringMatching(/^paid error: pay was interrupted by a crash/),
    });
    expect(begun).toEqual({ a: 2, b: 1 });
  });

  test("T5: a call of somebody whose hire is over is not asked about", async () => {
    const journal = new MemoryJournal();
    const clock = virtualClock();
    let begun = 0;
    const stuck = defineTool({
      name: "stuck",
      description: "",
      input: z.object({}),
      execute: () => {
        begun++;
        return new Promise<never>(() => {});
      },
    });
    const worker = agent("worker", async (ctx) => {
      await ctx.tool({ id: "c", name: "stuck", arguments: "{}" }, stuck);
      return done("never");
    });
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: worker, input: "", timeoutS: 1 });
      return done(`${status} ${String(await ctx.waitFor("go"))}`);
    });
    const first = new Runtime({ journal, clock });
    const run = first.run(lead, "", { runId: "r" });
    await until(() => begun === 1);
    await clock.advance(2_000);
    await turns();
    await closed(first, clock, 1_000);
    expect(await run.result).toMatchObject({ status: "suspended" });
    const second = new Runtime({ journal, clock, agents: [lead] });
    await second.deliver("r", "go", "on");
    expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "partial on" });
    expect(begun).toBe(1);
  });
});

test.each([1, 2])(
  "T5: nor is a call of somebody %i levels below it, of whom no end is on record",
  async (levels) => {
    const [whole, clock] = [new MemoryJournal(), virtualClock()];
    let begun = 0;
    const execute = (): Promise<never> => {
      begun++;
      return new Promise<never>(() => {});
    };
    const stuck = defineTool({ name: "stuck", description: "", input: z.object({}), execute });
    let hired = agent("worker", async (ctx) => {
      await ctx.tool({ id: "c", name: "stuck", arguments: "{}" }, stuck);
      return done("never");
    });
    for (let level = 1; level <= levels; level++) {
      const below = hired;
      hired = agent(`manager${level}`, async (ctx) =>
        done((await ctx.hire({ agent: below, input: "" })).status),
      );
    }
    const lead = agent("lead", async (ctx) => {
      const { status } = await ctx.hire({ agent: hired, input: "", timeoutS: 1 });
      const word = await ctx.waitFor("go");
      // Their seats are free again.
      const helpers = Array.from(
        { length: levels + 1 },
        () => ({ kind: "hire", agent: helper, input: "" }) as const,
      );
      const helped = (await ctx.batch(helpers)).filter((one) => one.status === "completed").length;
      return done(`${status} ${String(word)} ${helped}`);
    });
    const helper = agent("helper", async () => done(""));
    const ledger = () => new FakeLedger({ maxToolCalls: 5 });
    const headcount = () => new FakeHeadcount(levels + 1);
    const first = new Runtime({ journal: whole, clock, ledger, headcount });
    first.run(lead, "", { runId: "r" });
    await until(() => begun === 1);
    await clock.advance(2_000);
    await closed(first, clock, 1_000);
    const isLost = ({ exec, phase }: JournalRecord): boolean => exec !== "r" && phase === "end";
    const journal = cut(
      "r",
      whole.load(RunId("r")).filter((record) => !isLost(record)),
    );
    const second = new Runtime({ journal, agents: [lead], ledger, headcount });
    const told = (await second.inspect("r")).agents.slice(2).map((one) => one.status);
    expect(told).toEqual(Array.from({ length: levels }, () => "cancelled"));
    await second.deliver("r", "go", "on");
    const { status, output, agents } = await second.resume("r").result;
    expect([status, output, begun]).toEqual(["completed", `partial on ${levels + 1}`, 1]);
    // It may have done its work, so it counts, and whoever made it has ended with the one above.
    expect(agents?.slice(0, levels + 2).map((one) => `${one.status} ${one.toolCalls}`)).toEqual([
      "completed 0",
      "partial 0",
      ...Array.from({ length: levels - 1 }, () => "cancelled 0"),
      "cancelled 1",
    ]);
  },
);

test("T5: nothing of a batch is made before all of it is decided on, also if a tool may no longer be repeated", async () => {
  const made: string[] = [];
  const tool = (name: string, idempotent: boolean) =>
    defineTool({
      name,
      description: "",
      input: z.object({}),
      idempotent,
      execute: () => {
        made.push(name);
        return name;
      },
    });
  const lead = (isRepeatable: boolean): Agent =>
    agent("lead", async (ctx) => {
      const leaves = [tool("look", true), tool("pay", isRepeatable)].map(
        (each) =>
          ({ kind: "tool", tool: each, call: { id: each.name, name: each.name, arguments: "{}" } }) as const,
      );
      await ctx.batch(leaves);
      return done("");
    });
  const journal = new MemoryJournal();
  await new Runtime({ journal }).run(lead(true), "", { runId: "r" }).result;
  const isKept = (key: string, phase: string): boolean =>
    key === RUN_START || (key === "tool:0:1" && phase === "begin");
  const records = journal.load(RunId("r")).filter(({ key, phase }) => isKept(key, phase));
  const crashed = cut("r", records);
  made.length = 0;
  const result = await new Runtime({ journal: crashed, agents: [lead(false)] }).resume("r").result;
  expect(result).toMatchObject({ status: "suspended", error: { code: "NEEDS_DECISION" } });
  expect(made).toEqual([]);
});
