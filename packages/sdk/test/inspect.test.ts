import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fallback } from "@ravi/middleware";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import {
  agent,
  inspect,
  recordedEvents,
  run,
  type RunTree,
  start,
  team,
  tool,
  type TreeNode,
} from "@ravi/sdk";

let journal: string;

beforeEach(async () => {
  journal = await mkdtemp(join(tmpdir(), "ravi-inspect-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
});

const prices = { scripted: { input: 1, output: 2 }, spare: { input: 3, output: 4 } };

/** Every agent with its calls, without how long they took: the record has the times of its entries. */
function withoutTimes(tree: RunTree): readonly object[] {
  const plain = ({ calls, children, ...rest }: TreeNode): object => ({
    ...rest,
    calls: calls.map((call) => ({ ...call, durationMs: 0 })),
    children: children.map(plain),
  });
  return tree.agents().map(plain);
}

test("inspect gives the tree and the result of a run again, down to its calls, without its agents", async () => {
  const flaky = tool({
    name: "flaky",
    description: "Fails.",
    input: z.object({}),
    execute: () => {
      throw new Error("broken");
    },
  });
  const researcher = agent({
    name: "researcher",
    model: scriptedModel([{ toolCalls: [{ name: "flaky" }] }, { text: "nothing found" }]),
    tools: [flaky],
  });
  const down = scriptedModel([{ fault: { type: "status", status: 529 } }, { text: "so be it" }]);
  const writer = agent({
    name: "writer",
    model: down,
    middleware: {
      chat: [
        fallback({ models: [scriptedModel([{ text: "a spare answer" }], { info: { model: "spare" } })] }),
      ],
    },
  });
  const lead = team({
    name: "lead",
    model: scriptedModel([
      {
        toolCalls: [
          { name: "handoff_researcher", arguments: { task: "look" } },
          { name: "handoff_writer", arguments: { task: "write" } },
        ],
      },
      { text: "done" },
    ]),
    members: [researcher, writer],
  });
  const budget = { usd: 3, turns: 30 };
  const result = await run(lead, "go", { journal, runId: "run-1", budget, prices, tree: { agents: 5 } });
  expect(result).toMatchObject({ status: "completed", output: "done" });
  expect(result.tree.agents().flatMap(({ calls }) => calls.map(({ name }) => name))).toContain(
    "scripted:spare",
  );

  const report = await inspect("run-1", { journal });
  expect(withoutTimes(report.tree)).toEqual(withoutTimes(result.tree));
  expect(String(report.tree)).toBe(String(result.tree));
  const { usage, cost, limits } = result;
  expect(report).toMatchObject({ agent: "lead@1", status: "completed", input: "go", usage, cost, limits });
  expect(report).toMatchObject({ openCalls: [], inDoubt: [], result: { output: "done" } });
  expect(report.result?.unwrap().output).toBe("done");
  expect(JSON.parse(JSON.stringify(report))).toMatchObject({ tree: { agentId: "lead" }, result: { cost } });
});

test("inspect gives the calls that have ended in the order in which they did, each with its time, and the others apart", async () => {
  const memory = new MemoryJournal();
  const clock = virtualClock();
  const waits = (name: string, ms: number) =>
    tool({
      name,
      description: "Waits.",
      input: z.object({}),
      execute: () => new Promise<string>((resolve) => clock.setTimer(() => resolve("done"), ms)),
    });
  const tools = [waits("slow", 2_000), waits("fast", 1_000), waits("hung", 1_000_000)];
  const model = scriptedModel([{ toolCalls: tools.map(({ name }) => ({ name })) }, { text: "done" }]);
  const clerk = agent({ name: "clerk", model, tools });
  const handle = start(clerk, "go", { journal: memory, runId: "r", clock });
  const ended = async () => (await inspect("r", { journal: memory, clock })).tree.agents()[0]?.calls ?? [];
  await expect.poll(async () => (await clock.advance(1_000), (await ended()).length)).toBe(3);
  const { openCalls } = await inspect("r", { journal: memory, clock });
  expect((await ended()).map(({ name, durationMs }) => [name, durationMs])).toEqual([
    ["scripted:scripted", 0],
    ["fast", 1_000],
    ["slow", 2_000],
  ]);
  expect(openCalls.map(({ name }) => name)).toEqual(["hung"]);
  await Promise.all([handle.suspend(), clock.advance(10_000)]);
});

test("recordedEvents refuses a folder without a journal, and makes none", async () => {
  const none = join(journal, "none");
  await expect(recordedEvents("run-1", { journal: none })).rejects.toMatchObject({
    field: "journal",
    message: expect.stringContaining("the directory that the run was recorded in; this one does not exist"),
  });
  await expect(access(none)).rejects.toMatchObject({ code: "ENOENT" });
});

test("inspect refuses a folder without a journal, a run that is not there, and options that it has not", async () => {
  await expect(inspect("run-1", { journal: join(journal, "none") })).rejects.toMatchObject({
    code: "INVALID_VALUE",
    field: "journal",
  });
  await run(agent({ name: "a", model: scriptedModel([{ text: "ok" }]) }), "go", { journal });
  await expect(inspect("other", { journal })).rejects.toMatchObject({ field: "runId" });
  await expect(inspect("other", { journal, calls: true } as never)).rejects.toThrow(/options\.calls/);
});

test("inspect shows no limits for a run of a runtime that has none", async () => {
  const memory = new MemoryJournal();
  const runtime = new Runtime({ journal: memory });
  await runtime.run(agent({ name: "free", model: scriptedModel(["ok"]) }), "go", { runId: "r" }).result;
  const report = await inspect("r", { journal: memory });
  const none = {
    budget: { usd: null, tokens: null, turns: null, toolCalls: null, seconds: null },
    tree: { agents: Infinity, depth: null, total: null, preempt: false },
  };
  expect(report.limits).toEqual(none);
  expect(report.result?.limits).toEqual(none);
});
