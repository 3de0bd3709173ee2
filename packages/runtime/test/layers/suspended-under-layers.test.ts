import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type ChatContext,
  defineTool,
  type FunctionContext,
  type LLMClient,
  type Pipeline,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done, until } from "../support/helpers.ts";

// A run is suspended while something of it is under way, which comes to its end all the same. It is kept, with layers as without.

function through<C>(): Pipeline<C> {
  return { isNoop: false, admit: () => {}, run: (_, core) => core() };
}

/** With a signal of its own, as a layer with a time limit has it. */
function limited<C extends FunctionContext | ChatContext>(): Pipeline<C> {
  return {
    isNoop: false,
    admit: () => {},
    run: (context, core) => {
      const { signal } = context;
      const own = new AbortController();
      signal.addEventListener("abort", () => own.abort(signal.reason));
      context.signal = own.signal;
      return core();
    },
  };
}

const LAYERS = [
  ["without layers", {}],
  ["with layers", { function: through(), chat: through() }],
  ["with layers that have a time limit", { function: limited(), chat: limited() }],
] as const;

describe("what is there when a run is suspended", () => {
  test.each(LAYERS)("T5: the result of a tool is not asked about (%s)", async (_, pipelines) => {
    const paid = Promise.withResolvers<string>();
    let payments = 0;
    const pay = defineTool({
      name: "pay",
      description: "",
      input: z.object({}),
      execute: () => {
        payments++;
        return paid.promise;
      },
    });
    const payer = agent("payer", async (ctx) => {
      const { content } = await ctx.tool({ id: "1", name: "pay", arguments: "{}" }, pay);
      return done(String(content));
    });
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, pipelines });
    const { result } = first.run(payer, "", { runId: "r" });
    await until(() => payments === 1);
    const closing = first.close();
    paid.resolve("paid");
    await closing;
    expect((await result).status).toBe("suspended");
    const second = new Runtime({ journal, pipelines, agents: [payer] });
    expect(await second.resume("r").result).toMatchObject({ status: "completed", output: "paid" });
    expect(payments).toBe(1);
  });

  test.each(LAYERS)("T5: the answer of a model is not paid for again (%s)", async (_, pipelines) => {
    const thought = Promise.withResolvers<void>();
    let calls = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "p", model: "m" },
      async generate() {
        calls++;
        await thought.promise;
        const usage = { inputTokens: 10, outputTokens: 5 };
        return { message: { role: "assistant", content: "42" }, finishReason: "stop", usage };
      },
    };
    const thinker = agent("thinker", async (ctx) =>
      done(String((await ctx.llm(model, ask("?"))).message.content)),
    );
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, pipelines });
    const { result } = first.run(thinker, "", { runId: "r" });
    await until(() => calls === 1);
    const closing = first.close();
    thought.resolve();
    await closing;
    expect((await result).status).toBe("suspended");
    const second = new Runtime({ journal, pipelines, agents: [thinker] });
    const again = await second.resume("r").result;
    expect(again).toMatchObject({ output: "42", usage: { inputTokens: 10, outputTokens: 5 } });
    expect(calls).toBe(1);
  });

  test("T9: an attempt that a layer has given up does not take the place of a newer answer", async () => {
    const slow = Promise.withResolvers<void>();
    const looked = Promise.withResolvers<void>();
    let calls = 0;
    const model: LLMClient = {
      id: "m",
      info: { provider: "p", model: "m" },
      async generate() {
        const content = `answer ${++calls}`;
        if (calls === 1) await slow.promise;
        return { message: { role: "assistant", content }, finishReason: "stop" };
      },
    };
    const seen: unknown[] = [];
    const impatient: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => {},
      async run(context, core) {
        const { signal } = context;
        const limit = new AbortController();
        context.signal = limit.signal;
        const first = core().catch(() => {});
        limit.abort();
        context.signal = signal;
        await core();
        await looked.promise;
        await first;
        seen.push(context.result?.message.content);
      },
    };
    const thinker = agent("thinker", async (ctx) =>
      done(String((await ctx.llm(model, ask("?"))).message.content)),
    );
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, pipelines: { chat: impatient } });
    const { result } = first.run(thinker, "", { runId: "r" });
    await until(() => calls === 2);
    const closing = first.close();
    slow.resolve();
    looked.resolve();
    await closing;
    expect((await result).status).toBe("suspended");
    expect(seen).toEqual(["answer 2"]);
  });
});

test("R11: a tool is not called when its layer has given up before", async () => {
  let calls = 0;
  const pay = defineTool({ name: "pay", description: "", input: z.object({}), execute: () => ++calls });
  const layer: Pipeline<FunctionContext> = {
    isNoop: false,
    admit: () => {},
    run: (context, core) => {
      context.signal = AbortSignal.abort(new Error("too late"));
      return core();
    },
  };
  const payer = agent("payer", async (ctx) => {
    const paid = await ctx
      .tool({ id: "1", name: "pay", arguments: "{}" }, pay)
      .catch((error: unknown) => error);
    return done(JSON.stringify(paid, undefined, 1));
  });
  const { output } = await new Runtime({ pipelines: { function: layer } }).run(payer, "").result;
  expect(output).toContain("too late");
  expect(calls).toBe(0);
});

test("R9: a tool is not called if its run was cancelled while a layer waited", async () => {
  let calls = 0;
  const pay = defineTool({ name: "pay", description: "", input: z.object({}), execute: () => ++calls });
  const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow: Pipeline<FunctionContext> = {
    isNoop: false,
    admit: () => {},
    async run(_, core) {
      entered.resolve();
      await released.promise;
      await core();
    },
  };
  const payer = agent("payer", async (ctx) => {
    await ctx.tool({ id: "1", name: "pay", arguments: "{}" }, pay);
    return done("paid");
  });
  const run = new Runtime({ pipelines: { function: slow } }).run(payer, "");
  await entered.promise;
  run.cancel("enough");
  released.resolve();
  expect(await run.result).toMatchObject({ status: "cancelled", error: { reason: "enough" } });
  expect(calls).toBe(0);
});

test("T9: a tool's result that comes after its layer gave up on it does not take the place of the next one", async () => {
  const slow = Promise.withResolvers<void>();
  let calls = 0;
  const look = defineTool({
    name: "look",
    description: "",
    input: z.object({}),
    idempotent: true,
    async execute() {
      const answer = `result ${++calls}`;
      if (calls === 1) await slow.promise;
      return answer;
    },
  });
  const impatient: Pipeline<FunctionContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      const { signal } = context;
      const limit = new AbortController();
      context.signal = limit.signal;
      const first = core().catch(() => {});
      await until(() => calls === 1);
      limit.abort();
      context.signal = signal;
      await core();
      slow.resolve();
      await first;
    },
  };
  const looker = agent("looker", async (ctx) =>
    done(String((await ctx.tool({ id: "1", name: "look", arguments: "{}" }, look)).content)),
  );
  const { result } = new Runtime({ pipelines: { function: impatient } }).run(looker, "");
  expect((await result).output).toBe("result 2");
});
