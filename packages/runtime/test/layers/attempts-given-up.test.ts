import {
  CancellationToken,
  type ChatContext,
  type LLMClient,
  type ModelEvent,
  type Pipeline,
  type StreamTransform,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { expect, it, test } from "vitest";
import { agent, ask, done, turns, within } from "../support/helpers.ts";

/** Holds everything back until the end, as a redactor does with what may still become a secret. */
function holding(): StreamTransform {
  let held = "";
  return {
    push(event) {
      if (event.type === "text") held += event.delta;
      return [];
    },
    flush(): readonly ModelEvent[] {
      const delta = held;
      held = "";
      return delta === "" ? [] : [{ type: "text", delta }];
    },
  };
}

const whole = (content: string): ModelEvent => ({
  type: "finish",
  response: { message: { role: "assistant", content }, finishReason: "stop" },
});

it.each([
  ["and aborts it", true],
  ["and forgets it", false],
])(
  "T13: an attempt that a layer gives up %s neither adds to what the next one streams nor takes from it",
  async (_, aborts) => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let attempts = 0;
    const deaf: LLMClient = {
      ...scriptedModel([]),
      async *stream() {
        if (++attempts === 1) {
          yield { type: "text", delta: "stale " };
          await first.promise;
          yield { type: "text", delta: "late " };
          throw new Error("broke off");
        }
        yield { type: "text", delta: "new " };
        await second.promise;
        yield { type: "text", delta: "answer" };
        yield whole("new answer");
      },
    };
    const impatient: Pipeline<ChatContext> = {
      isNoop: false,
      admit: () => {},
      async run(context, core) {
        context.addTransform(holding());
        const { signal } = context;
        const token = new CancellationToken(signal);
        if (aborts) context.signal = token.signal;
        const given = core();
        given.catch(() => {});
        await turns();
        token.cancel("too slow");
        context.signal = signal;
        const again = core();
        await turns();
        first.resolve();
        await turns();
        second.resolve();
        await again;
      },
    };
    const worker = {
      ...agent("worker", async (ctx) => done(String((await ctx.llm(deaf, ask("x"))).message.content))),
      pipelines: { chat: impatient },
    };
    let told = "";
    const run = new Runtime().run(worker, "", {
      onEvent: ({ event }) => {
        if (event.type === "text") told += event.delta;
      },
    });
    expect(await within(run.result)).toMatchObject({ output: "new answer" });
    expect(told).toBe("new answer");
  },
);

it("R27: a layer's own model call is stopped by the time limit around that layer", async () => {
  const judge: LLMClient = {
    ...scriptedModel([]),
    generate: (_request, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener("abort", () => reject(new Error("stopped")), { once: true });
      }),
  };
  const limited: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      const { signal } = context;
      const token = new CancellationToken(signal);
      context.signal = token.signal;
      const verdict = context.call(judge, ask("?")).catch((error: unknown) => error);
      token.cancel("too slow");
      context.signal = signal;
      expect(await within(verdict)).toMatchObject({ message: "stopped" });
      await core();
    },
  };
  const worker = {
    ...agent("worker", async (ctx) =>
      done(String((await ctx.llm(scriptedModel(["ok"]), ask("x"))).message.content)),
    ),
    pipelines: { chat: limited },
  };
  expect((await new Runtime().run(worker, "").result).output).toBe("ok");
});

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
