import { expect, test } from "vitest";
import type { ChatContext, LLMClient, Pipeline } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { agent, ask, done } from "./helpers.ts";

test("R10: an answer that comes after a layer gave up on its attempt does not replace that of the next one", async () => {
  const held = Promise.withResolvers<void>();
  let calls = 0;
  const model: LLMClient = {
    id: "slow",
    info: { provider: "test", model: "slow" },
    async generate() {
      const content = `answer ${++calls}`;
      if (calls === 1) await held.promise;
      return { message: { role: "assistant", content }, finishReason: "stop" };
    },
  };
  const impatient: Pipeline<ChatContext> = {
    isNoop: false,
    hasAdmits: false,
    admit() {},
    async run(context, core) {
      const patience = new AbortController();
      const outer = context.signal;
      context.signal = patience.signal;
      const first = core();
      patience.abort();
      context.signal = outer;
      await core();
      held.resolve();
      await Promise.allSettled([first]);
    },
  };
  const asks = agent("asks", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content)));
  const { output } = await new Runtime({ pipelines: { chat: impatient } }).run(asks, "").result;
  expect([calls, output]).toEqual([2, "answer 2"]);
});
