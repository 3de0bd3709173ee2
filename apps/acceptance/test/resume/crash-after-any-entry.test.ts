import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  type ChatMessage,
  defineTool,
  type JournalRecord,
  type ModelRequest,
  Priority,
  textOf,
} from "@ravi/kernel";
import { ConditionalFlow, ParallelFlow, SequentialFlow } from "@ravi/flow";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { RetryPolicy } from "@ravi/supervision";
import { agent, done, hands, model } from "../../src/leading.ts";
import { gist, go, type Gone, type Shape } from "../support/crashing.ts";

const ask = (text: string): ModelRequest => ({ messages: [{ role: "user", content: text }] });
const toolResults = (messages: readonly ChatMessage[]): ChatMessage[] =>
  messages.filter(({ role }) => role === "tool");

/** Hands over once, then says what it was told. By what it has seen, so that any process answers the same. */
const relay = (
  name: string,
  team: ConstructorParameters<typeof OrchestratorAgent>[0]["subAgents"],
  more = {},
): Agent =>
  new OrchestratorAgent({
    name,
    model: model(({ messages }) => {
      const told = toolResults(messages);
      const late = messages.filter((one) => one.role === "user" && textOf(one).includes("late answer from"));
      if (told.length === 0)
        return hands(
          ...(team ?? []).map(({ agent: { id } }) => [id.split("/")[0] ?? "", `from ${name}`] as const),
        );
      return [...told, ...late].map((one) => textOf(one)).join(" & ");
    }),
    subAgents: team,
    ...more,
  });
const worker = (name: string, calls = 2): Agent =>
  agent(name, async (ctx, { input }) => {
    for (let n = 0; n < calls; n++)
      await ctx.llm(
        model(() => "x"),
        ask(`${name} ${input} ${n}`),
      );
    return done(`${name} did it`);
  });
/** Crashes the first time it is hired by anybody, and does it the next time: by its own execution's name. */
const flaky = (name: string): Agent =>
  agent(name, async (ctx) => {
    await ctx.llm(
      model(() => "x"),
      ask(name),
    );
    if (ctx.execId.endsWith("#1")) throw new TypeError(`${name} crashed`);
    await ctx.llm(
      model(() => "x"),
      ask(`${name} again`),
    );
    return done(`${name} did it at last`);
  });
const note = defineTool({
  name: "note",
  description: "",
  input: z.object({}),
  idempotent: true,
  needsApproval: true,
  execute: () => "noted",
});

const SHAPES: Readonly<Record<string, Shape>> = {
  "nested leads whose helpers crash and are hired again": {
    make: () => {
      const retryPolicy = new RetryPolicy({ maxRetries: 2, baseMs: 1000 });
      const low = relay("low", [{ agent: flaky("f") }, { agent: worker("w") }], { retryPolicy });
      return relay("lead", [{ agent: low }, { agent: flaky("g") }], { retryPolicy });
    },
  },
  "flows in a lead in a flow": {
    make: () => {
      const inner = new SequentialFlow({ name: "inner", steps: [worker("s1", 1), worker("s2", 1)] });
      const either = new ConditionalFlow({
        name: "either",
        if: (input) => input.includes("mid"),
        whenTrue: worker("yes", 1),
        otherwise: worker("no", 1),
      });
      const mid = relay("mid", [{ agent: inner }, { agent: either }]);
      return new ParallelFlow({ name: "outer", branches: [mid, worker("side", 1)] });
    },
  },
  "the same with hardly a seat": {
    make: () => {
      const inner = new ParallelFlow({ name: "inner", branches: [worker("s1", 1), worker("s2", 1)] });
      return new SequentialFlow({
        name: "outer",
        steps: [relay("mid", [{ agent: inner }]), worker("side", 1)],
      });
    },
    start: { spawnBudget: { maxAgents: 2 } },
  },
  "who was left behind": {
    make: () => {
      const slow = agent("slow", async (ctx) => {
        await ctx.sleepUntil((await ctx.now()) + 90_000);
        await ctx.llm(
          model(() => "x"),
          ask("slow"),
        );
        return done("slow did it");
      });
      return relay("lead", [{ agent: slow, askTimeoutS: 30, onTimeout: "leave" }, { agent: worker("w") }]);
    },
  },
  "helpers that the model has defined": {
    make: () => {
      const hires = { name: "hire_helper", arguments: { name: "dig", instructions: "dig", task: "deep" } };
      return new OrchestratorAgent({
        name: "lead",
        model: model(({ messages, tools }) => {
          if (tools === undefined || !tools.some(({ name }) => name === "hire_helper")) return "dug";
          const told = toolResults(messages);
          return told.length === 0
            ? { toolCalls: [hires, hires] }
            : told.map((one) => textOf(one)).join(" & ");
        }),
        dynamicHiring: {},
      });
    },
  },
  "an approval at depth three": {
    make: () => {
      const clerk = new ReActAgent({
        name: "clerk",
        model: model(({ messages }) =>
          toolResults(messages).length === 0 ? { toolCalls: [{ name: "note" }] } : "written",
        ),
        tools: [note],
      });
      return relay("lead", [{ agent: relay("mid", [{ agent: relay("low", [{ agent: clerk }]) }]) }]);
    },
    answers: [["approval:r/hire:mid#1/hire:low#1/hire:clerk#1:tool:1:0", true]],
  },
  "one who is parked for a more urgent one": {
    make: () =>
      relay("lead", [
        { agent: worker("slow", 3), priority: Priority.BACKGROUND },
        { agent: worker("urgent", 2), priority: Priority.HIGH },
      ]),
    start: { spawnBudget: { maxAgents: 2 } },
  },
  "queues at every level": {
    make: () => {
      const many = (name: string): Agent =>
        relay(name, [
          { agent: worker(`${name}1`, 1), onFull: "queue", askTimeoutS: null },
          { agent: worker(`${name}2`, 1), onFull: "queue", askTimeoutS: null },
        ]);
      return relay("lead", [
        { agent: many("a"), onFull: "queue", askTimeoutS: null },
        { agent: many("b"), onFull: "queue", askTimeoutS: null },
      ]);
    },
    start: { spawnBudget: { maxAgents: 4 } },
  },
};

describe("T5: a crash after any entry", () => {
  test.each(Object.entries(SHAPES))("%s", async (_, shape) => {
    const whole = await go(shape);
    expect(whole.result?.status).toBe("completed");
    expect(whole.pending).toBe(0);
    for (let count = 1; count <= whole.records.length; count++) {
      const left = whole.records.slice(0, count);
      const resumed = await go(shape, left, left.at(-1)?.at);
      expect({ count, ...gist(resumed.result) }).toEqual({ count, ...gist(whole.result) });
      expect({ count, held: resumed.held, pending: resumed.pending }).toEqual({ count, held: 1, pending: 0 });
      expect({ count, again: paidAgain(left, resumed) }).toEqual({ count, again: [] });
    }
  });

  test.each(Object.entries(SHAPES))("%s: an hour later, and killed again on the way", async (_, shape) => {
    const whole = await go(shape);
    // Every third entry: the next one is killed in the middle of what the one before has added.
    for (let count = 2; count < whole.records.length; count += 3) {
      const left = whole.records.slice(0, count);
      const now = (left.at(-1)?.at ?? 0) + 3_600_000;
      const second = await go(shape, left, now);
      // What had a time limit may be late by now, but it all ends, and says so.
      expect({ count, status: second.result?.status }).toEqual({
        count,
        status: expect.stringMatching(/completed|partial/),
      });
      expect({ count, again: paidAgain(left, second) }).toEqual({ count, again: [] });
      const half = second.records.slice(0, Math.ceil((count + second.records.length) / 2));
      const third = await go(shape, half, now);
      expect({ count, ...gist(third.result) }).toEqual({ count, ...gist(second.result) });
      expect({ count, held: third.held, pending: third.pending }).toEqual({ count, held: 1, pending: 0 });
      expect({ count, again: paidAgain(half, third) }).toEqual({ count, again: [] });
    }
  });
});

/** Calls whose end is on record and that were made all the same. */
function paidAgain(left: readonly JournalRecord[], { paid }: Gone): readonly string[] {
  const ended = new Set(left.filter(({ phase }) => phase === "end").map(({ exec, key }) => `${exec}:${key}`));
  return paid.filter((key) => ended.has(key));
}
