import {
  type ChatContext,
  type LLMClient,
  type Pipeline,
  ProviderError,
  type StreamTransform,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { agent, ask, done } from "../support/helpers.ts";

it("R11: a transform that is none is refused by what one has to have", async () => {
  const model = scriptedModel(["never said"]);
  const layer: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    run: async (context, core) => {
      Reflect.apply(context.addTransform, context, [(event: unknown) => event]);
      await core();
    },
  };
  const asker = {
    ...agent("asker", async (ctx) => {
      await ctx.llm(model, { messages: [] });
      return done("");
    }),
    pipelines: { chat: layer },
  };
  const { error } = await new Runtime({}).run(asker, "").result;
  expect(error).toMatchObject({ code: "INVALID_VALUE", field: "addTransform" });
  expect(error?.message).toMatch(/a function; expected .*push.*flush/);
});

it("a guard that trips over what is left of a failed stream does not hide why it failed", async () => {
  let sent = 0;
  const flaky: LLMClient = {
    ...scriptedModel(["not used"]),
    async *stream() {
      sent++;
      yield { type: "text", delta: "half of" };
      if (sent === 1) throw new ProviderError({ kind: "SERVER_ERROR", message: "broke" });
      const message = { role: "assistant", content: "half of" } as const;
      yield { type: "finish", response: { message, finishReason: "stop" } };
    },
  };
  const failures: unknown[] = [];
  const guard: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      const transform: StreamTransform = {
        push: (event) => [event],
        flush: () => {
          if (sent === 1) throw new Error("forbidden");
          return [];
        },
      };
      context.addTransform(transform);
      try {
        await core();
      } catch (error) {
        failures.push(error);
        await core();
      }
    },
  };
  const worker = {
    ...agent("worker", async (ctx) => done(String((await ctx.llm(flaky, ask("x"))).message.content))),
    pipelines: { chat: guard },
  };
  const result = await new Runtime().run(worker, "", { onEvent: () => {} }).result;
  expect(failures).toMatchObject([{ message: "broke" }]);
  expect(result).toMatchObject({ status: "completed", output: "half of" });
});
