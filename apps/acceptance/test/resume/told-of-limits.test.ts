import { type Agent, defineTool, type ModelRequest, type RunEvent, textOf } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal } from "@ravi/runtime";
import type { Answer } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { agent, done, governed, hands, model } from "../../src/leading.ts";

// A model is told what happened and what it can do. What a developer could change is in events and results.

/** The names of options that a model cannot set. */
const OPTIONS = /\bmax[A-Z]\w*|onFull|allowPreempt|whenResumed|wrapUp|\braise\b/;

const toldIn = (requests: readonly { readonly request: ModelRequest }[]): string =>
  requests.flatMap(({ request }) => request.messages.map(textOf)).join("\n");

const helper = agent("helper", async () => done("helped"));

/** Runs an agent that hires; returns what its model was told, and what the events say about denied hires. */
async function denials(
  lead: (model: ReturnType<typeof hiring>) => Agent,
  spawnBudget: object,
  handoffs: Answer,
): Promise<{ told: string; denied: unknown[]; agents: unknown }> {
  const asked = hiring(handoffs);
  const events: RunEvent[] = [];
  const run = governed().run(lead(asked), "go", { spawnBudget, onEvent: (event) => events.push(event) });
  const { agents } = await run.result;
  return {
    told: toldIn(asked.calls),
    denied: events.flatMap(({ event }) =>
      event.type === "progress" && event.name === "hireDenied" ? [event.data] : [],
    ),
    agents: agents?.map(({ status }) => status),
  };
}
const hiring = (handoffs: Answer) => model([handoffs, "all in all: fine"]);

const orchestrator = (asked: ReturnType<typeof hiring>): Agent =>
  new OrchestratorAgent({ name: "lead", model: asked, subAgents: [{ agent: helper }] });
const delegating = (asked: ReturnType<typeof hiring>): Agent =>
  new ReActAgent({
    name: "lead",
    model: asked,
    tools: [new ReActAgent({ name: "helper", model: model(["x"]) }).asDelegate({ name: "handoff_helper" })],
  });

describe.each([
  ["an orchestrator", orchestrator],
  ["an agent with a delegate", delegating],
])("%s whose hire is refused", (_, lead) => {
  test.each([
    [
      "because all slots are taken",
      { maxAgents: 1 },
      /agents budget of lead exhausted: 1 of 1\. Do the work/,
    ],
    [
      "at the maximum depth",
      { maxDepth: 0 },
      /depth budget of lead exhausted: 0 of 0\. Do the work yourself\./,
    ],
    [
      "by the total",
      { maxTotal: 1 },
      /totalAgents budget of lead exhausted: 1 of 1\. Do the work yourself\./,
    ],
  ])("%s: its model is told so, and of no option", async (__, budget, text) => {
    const { told, denied, agents } = await denials(lead, budget, hands(["helper", "x"]));
    expect(told).toMatch(text);
    expect(told).not.toMatch(OPTIONS);
    const [limit = ""] = Object.keys(budget);
    expect(denied).toEqual([
      { to: "helper", error: expect.stringMatching(new RegExp(`exhausted.*raise ${limit}`)) },
    ]);
    expect(agents).toEqual(["completed", "denied"]);
  });
});

test("a limit that cut a helper off, or a tool, is told without the names of options", async () => {
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: () => "seen",
  });
  const asked = model([{ toolCalls: [{ name: "look" }, { name: "look" }] }, "what I have"]);
  const lead = new ReActAgent({ name: "lead", model: asked, tools: [look] });
  const { status, stoppedBy } = await governed().run(lead, "go", { executionBudget: { maxToolCalls: 1 } })
    .result;
  expect({ status, stoppedBy }).toMatchObject({
    status: "partial",
    stoppedBy: { dimension: "toolCalls", hint: expect.stringContaining("raise maxToolCalls") },
  });
  expect(toldIn(asked.calls)).toContain("toolCalls budget of lead exhausted");
  expect(toldIn(asked.calls)).not.toMatch(OPTIONS);

  const spender = agent("spender", async (ctx) => {
    for (;;) await ctx.llm(model(["x"]), { messages: [{ role: "user", content: "more" }] });
  });
  const hirer = hiring(hands(["spender", "x"]));
  const team = new OrchestratorAgent({
    name: "lead",
    model: hirer,
    subAgents: [{ agent: spender, executionBudget: { maxTurns: 2 } }],
  });
  await governed().run(team, "go").result;
  expect(toldIn(hirer.calls)).toMatch(/spender .*budget/);
  expect(toldIn(hirer.calls)).not.toMatch(OPTIONS);
});

test("a resumed run tells its model the same about a refused hire, word for word", async () => {
  const journal = new MemoryJournal();
  const told: string[] = [];
  const lead = (dies: boolean): Agent =>
    new OrchestratorAgent({
      name: "lead",
      model: model((request) => {
        if (!request.messages.some(({ role }) => role === "tool")) return hands(["helper", "x"]);
        told.push(toldIn([{ request }]));
        return dies ? { text: "", fault: { type: "hang" } } : "fine";
      }),
      subAgents: [{ agent: helper }],
    });
  const dying = governed({ journal });
  const run = dying.run(lead(true), "go", { runId: "r", spawnBudget: { maxAgents: 1 } });
  while (told.length === 0) await new Promise(setImmediate);
  await dying.close();
  expect((await run.result).status).toBe("suspended");
  const result = await governed({ journal, agents: [lead(false)] }).resume("r").result;
  expect(result).toMatchObject({ status: "completed", output: "fine" });
  expect(told).toEqual([told[0], told[0]]);
  expect(told[0]).toContain("helper was not hired");
});
