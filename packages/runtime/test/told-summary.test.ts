import { expect, test } from "vitest";
import { type CompactionStrategy, type LLMClient, type RunEvent, textOf } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done } from "./support/helpers.ts";

// A session mutes the model of its strategy in the same way.

const streaming = (): LLMClient => scriptedModel(["a summary"]);
const plain = (): LLMClient => {
  const { id, info, generate } = scriptedModel(["a summary"]);
  return { id, info, generate };
};

test.each([
  ["streams, without options", streaming, {}],
  ["streams, with a journal", streaming, { journal: new MemoryJournal() }],
  ["cannot stream, without options", plain, {}],
  ["cannot stream, with a journal", plain, { journal: new MemoryJournal() }],
])(
  "R10: what a strategy asks a model that %s is not told as if the agent had said it",
  async (_, make, ports) => {
    const summarizer = make();
    const model = scriptedModel(["the answer"]);
    const compaction: CompactionStrategy = {
      name: "short",
      async compact(messages, context) {
        const summary = await context?.llm?.(summarizer, ask("summarize"));
        return [{ role: "user", content: textOf(summary?.message ?? { content: "" }) }, ...messages.slice(1)];
      },
    };
    const events: RunEvent[] = [];
    const teller = agent("teller", async (ctx) => {
      ctx.remember({ role: "user", content: "a long story" });
      const messages = await ctx.window();
      expect(messages).toEqual([{ role: "user", content: "a summary" }]);
      return done(textOf((await ctx.llm(model, { messages })).message));
    });
    const runtime = new Runtime({ ...ports, compaction });
    const { output } = await runtime.run(teller, "", { onEvent: (event) => void events.push(event) }).result;
    expect(output).toBe("the answer");
    const told = events.flatMap(({ event }) => (event.type === "text" ? [event.delta] : []));
    expect(told.join("")).toBe("the answer");
    // What it has cost is told: it counts.
    expect(events.filter(({ event }) => event.type === "usage")).toHaveLength(2);
  },
);
