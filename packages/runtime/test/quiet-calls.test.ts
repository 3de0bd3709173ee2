import { describe, expect, test } from "vitest";
import { type Agent, type ChatContext, type Pipeline, type RunEvent, textOf } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, ask, done } from "./support/helpers.ts";

// An agent also asks models for what it does not say: a plan, a score, a choice.

const NO_LAYER: Pipeline<ChatContext> = { isNoop: false, admit() {}, run: (_, core) => core() };
const OWN_ANSWER: Pipeline<ChatContext> = {
  ...NO_LAYER,
  hasAdmits: true,
  admit: (context) =>
    void (context.result = {
      message: { role: "assistant", content: "of a layer" },
      finishReason: "stop",
      usage: { inputTokens: 0, outputTokens: 0 },
    }),
};

/** Plans quietly, or not, and answers. */
function planner(quiet: boolean | undefined): Agent {
  const model = scriptedModel(["a plan", "the answer"]);
  return agent("planner", async (ctx) => {
    await ctx.llm(model, ask("plan"), { quiet });
    return done(textOf((await ctx.llm(model, ask("go"))).message));
  });
}

async function heard(options: RuntimeOptions, teller: Agent): Promise<readonly string[]> {
  const events: RunEvent[] = [];
  await new Runtime(options).run(teller, "", { onEvent: (event) => void events.push(event) }).result;
  return events.flatMap(({ event }) => ("delta" in event ? [event.delta] : []));
}

describe.each<readonly [string, RuntimeOptions]>([
  ["without options", {}],
  ["with a journal", { journal: new MemoryJournal() }],
  ["with a layer", { pipelines: { chat: NO_LAYER } }],
])("J3: what a quiet call answers is not told, %s:", (_, options) => {
  test.each([
    [true, "the answer"],
    [false, "a planthe answer"],
    [undefined, "a planthe answer"],
  ])("quiet: %s", async (quiet, told) => {
    expect((await heard(options, planner(quiet))).join("")).toBe(told);
  });
});

test("J3: nor what a layer answers to it in its admit", async () => {
  const told = await heard({ pipelines: { chat: OWN_ANSWER } }, planner(true));
  expect(told).toEqual(["of a layer"]);
});

test.each([
  [undefined, true],
  [true, undefined],
])(
  "R24: whether a call is quiet is no part of what it asks: recorded as %s, it is replayed as %s",
  async (before, after) => {
    const journal = new MemoryJournal();
    const asked = scriptedModel(["a plan", "the answer"]);
    const waiting = (quiet: boolean | undefined): Agent =>
      agent("planner", async (ctx) => {
        const { message } = await ctx.llm(asked, ask("plan"), { quiet });
        await ctx.waitFor("go");
        return done(`${textOf(message)}: ${textOf((await ctx.llm(asked, ask("go"))).message)}`);
      });
    const first = new Runtime({ journal });
    const run = first.run(waiting(before), "", { runId: "r" });
    while ((await first.list())[0]?.waitingFor === undefined) await new Promise(setImmediate);
    await first.close();
    expect((await run.result).status).toBe("suspended");
    const second = new Runtime({ journal, agents: [waiting(after)] });
    await second.deliver("r", "go", 1);
    expect((await second.resume("r").result).output).toBe("a plan: the answer");
    expect(asked.calls).toHaveLength(2);
  },
);
