import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  type LLMClient,
  type ModelEvent,
  type ModelResponse,
  NO_USAGE,
  type Pipeline,
  type RunEvent,
  textOf,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, ask, done } from "./support/helpers.ts";

// Whoever shows what agents say reads `text` events, whichever model they use and whichever layers are around it.

const ANSWER: ModelResponse = {
  message: {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm" },
      { type: "text", text: "one" },
      { type: "text", text: "" },
      { type: "text", text: "two" },
    ],
    toolCalls: [{ id: "c1", name: "look", arguments: "{}" }],
  },
  finishReason: "toolCalls",
  usage: NO_USAGE,
};
const WHOLE = ["reasoning: hm", "text: one", "text: two"];

const plain: LLMClient = {
  id: "plain",
  info: { provider: "plain", model: "plain" },
  generate: async () => ANSWER,
};

const layer = (run: Pipeline<ChatContext>["run"]): Pipeline<ChatContext> => ({
  isNoop: false,
  admit() {},
  run,
});

const configurations: readonly (readonly [string, RuntimeOptions])[] = [
  ["with a journal", { journal: new MemoryJournal() }],
  ["without options", {}],
];

async function heard(
  options: RuntimeOptions,
  chat: Pipeline<ChatContext> | undefined,
  model: LLMClient = plain,
): Promise<readonly string[]> {
  const told: string[] = [];
  const onEvent = ({ event }: RunEvent): void => {
    if (event.type === "text" || event.type === "reasoning") told.push(`${event.type}: ${event.delta}`);
    else if (event.type === "progress") told.push(event.name);
    else told.push(event.type);
  };
  const teller = agent("teller", async (ctx) => done(textOf((await ctx.llm(model, ask("go"))).message)));
  const runtime = new Runtime({ ...options, ...(chat && { pipelines: { chat } }) });
  const { status } = await runtime.run(teller, "", { onEvent }).result;
  expect(status).toBe("completed");
  return told;
}

describe.each(configurations)(
  "R10: an answer that was not streamed is told all at once, %s:",
  (_, options) => {
    test("that of a model that cannot stream, before what it has cost", async () => {
      expect(await heard(options, undefined)).toEqual(["started", ...WHOLE, "usage", "completed"]);
    });

    test("that of a layer, instead of the model's", async () => {
      const cached = layer(async (context) => {
        context.result = ANSWER;
      });
      expect(await heard(options, cached)).toEqual(["started", ...WHOLE, "usage", "completed"]);
    });

    test("that of a layer in its admit, which costs nothing", async () => {
      const refusing: Pipeline<ChatContext> = {
        isNoop: false,
        hasAdmits: true,
        admit: (context) => void (context.result = ANSWER),
        run: (_context, core) => core(),
      };
      expect(await heard(options, refusing)).toEqual(["started", ...WHOLE, "completed"]);
    });

    test("one that a layer has held back until its end", async () => {
      const holding = layer((context, core) => {
        context.addTransform({ push: () => [], flush: () => [] });
        return core();
      });
      expect(await heard(options, holding, scriptedModel(["held back"], { chunkSize: 2 }))).toEqual([
        "started",
        "text: held back",
        "usage",
        "completed",
      ]);
    });

    test("that of another model, after a part of the first one's was streamed", async () => {
      const cut = { text: "first half", fault: { type: "cut", afterDeltas: 1 } } as const;
      const falling = layer((context, core) =>
        core().catch(() => {
          context.model = plain;
          return core();
        }),
      );
      const told = await heard(options, falling, scriptedModel([cut], { chunkSize: 5 }));
      expect(told).toEqual([
        "started",
        "text: first",
        "fallback",
        "answerRestarted",
        ...WHOLE,
        "usage",
        "completed",
      ]);
    });
  },
);

test("R10: so is one that somebody comes to watch while it is made", async () => {
  const called = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<ModelResponse>();
  const model = {
    ...scriptedModel([]),
    generate: () => {
      called.resolve();
      return answered.promise;
    },
  };
  const teller = agent("teller", async (ctx) => done(textOf((await ctx.llm(model, ask("go"))).message)));
  const run = new Runtime({ journal: new MemoryJournal() }).run(teller, "");
  await called.promise;
  const events = Array.fromAsync(run.events());
  answered.resolve(ANSWER);
  const types = (await events).map(({ event }) => event.type);
  expect(types).toEqual(["reasoning", "text", "text", "usage", "completed"]);
});

const said = (content: ModelResponse["message"]["content"]): ModelResponse => ({
  message: { role: "assistant", content },
  finishReason: "stop",
  usage: NO_USAGE,
});

describe.each(configurations)("R10: what observers have in the end is the answer, %s:", (_, options) => {
  const cut = { text: "first half", fault: { type: "cut", afterDeltas: 1 } } as const;

  test("of a layer, after a part of the model's", async () => {
    const rescuing = layer((context, core) =>
      core().catch(() => {
        context.result = said("sorry");
      }),
    );
    const told = await heard(options, rescuing, scriptedModel([cut], { chunkSize: 5 }));
    expect(told).toEqual(["started", "text: first", "answerRestarted", "text: sorry", "usage", "completed"]);
  });

  test("of a layer, instead of all of the model's", async () => {
    const correcting = layer(async (context, core) => {
      await core();
      context.result = said("better");
    });
    const told = await heard(options, correcting, scriptedModel(["good"]));
    expect(told).toEqual(["started", "text: good", "answerRestarted", "text: better", "usage", "completed"]);
  });

  test("as a layer has changed it in the stream, and then", async () => {
    const shouting = layer(async (context, core) => {
      context.addTransform({
        push: (event) => [event.type === "text" ? { ...event, delta: event.delta.toUpperCase() } : event],
        flush: () => [],
      });
      await core();
      context.result = said("GOOD");
    });
    const told = await heard(options, shouting, scriptedModel(["good"]));
    expect(told).toEqual(["started", "text: GOOD", "usage", "completed"]);
  });

  test("as the model gave it, if a layer shows something else in the stream", async () => {
    const shouting = layer((context, core) => {
      context.addTransform({
        push: (event) => [event.type === "text" ? { ...event, delta: event.delta.toUpperCase() } : event],
        flush: () => [],
      });
      return core();
    });
    const told = await heard(options, shouting, scriptedModel(["good"]));
    expect(told).toEqual(["started", "text: GOOD", "usage", "completed"]);
  });

  test("with the text, if only tool calls and thoughts were streamed", async () => {
    const finish = { type: "finish", response: ANSWER } as const;
    const call = { type: "toolCall", index: 0, id: "c1", name: "look", delta: "{}" } as const;
    const thought = { type: "reasoning", delta: "hm" } as const;
    const model = (...events: readonly ModelEvent[]): LLMClient => ({
      ...plain,
      async *stream() {
        yield* events;
      },
    });
    expect(await heard(options, undefined, model(call, finish))).toEqual([
      "started",
      "toolArguments",
      ...WHOLE,
      "usage",
      "completed",
    ]);
    expect(await heard(options, undefined, model(thought, finish))).toEqual([
      "started",
      ...WHOLE,
      "usage",
      "completed",
    ]);
  });

  test("and nothing that an attempt still says when the call is over", async () => {
    const rest = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const slow: LLMClient = {
      ...plain,
      async *stream() {
        yield { type: "text", delta: "slow " };
        left.resolve();
        await rest.promise;
        yield { type: "text", delta: "and late" };
        yield { type: "finish", response: said("slow and late") };
      },
    };
    const impatient = layer(async (context, core) => {
      void core().catch(() => {});
      await left.promise;
      context.result = said("quick");
    });
    const told: string[] = [];
    const teller = agent("teller", async (ctx) => {
      const { message } = await ctx.llm(slow, ask("go"));
      rest.resolve();
      // Whatever the model says now comes before the answer to this call.
      await ctx.llm({ ...plain, generate: () => settled(said("next")) }, ask("on"));
      return done(textOf(message));
    });
    let calls = 0;
    const once = layer((context, core) => (calls++ === 0 ? impatient.run(context, core) : core()));
    const onEvent = ({ event }: RunEvent): void => {
      if (event.type === "text") told.push(event.delta);
      if (event.type === "progress") told.push(event.name);
    };
    const { output } = await new Runtime({ ...options, pipelines: { chat: once } }).run(teller, "", {
      onEvent,
    }).result;
    expect(output).toBe("quick");
    expect(told).toEqual(["slow ", "answerRestarted", "quick", "next"]);
  });
});

/** The answer, after everything that can happen at once has happened. */
async function settled(response: ModelResponse): Promise<ModelResponse> {
  await new Promise((resolve) => void setImmediate(resolve));
  return response;
}

test("R10: a thought without a text, from a model in plain JavaScript, is not told", async () => {
  const content = [{ type: "reasoning" }, { type: "text", text: "yes" }] as never;
  const odd: LLMClient = { ...plain, generate: async () => said(content) };
  expect(await heard({}, undefined, odd)).toEqual(["started", "text: yes", "usage", "completed"]);
});

test.each(configurations)(
  "R10: that of a hired agent is told as its own, without gaps, %s",
  async (_, options) => {
    const helper = agent("helper", async (ctx) => done(textOf((await ctx.llm(plain, ask("go"))).message)));
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: helper, input: "help" });
      return done(textOf((await ctx.llm(plain, ask("go"))).message));
    });
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void events.push(event);
    const { runId, result } = new Runtime(options).run(lead, "", { onEvent });
    await result;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((__, at) => at + 1));
    const who = events.flatMap(({ agentId, execId, event }) =>
      event.type === "text" ? [`${agentId} ${execId}`] : [],
    );
    const [hired, own] = [`helper/1 ${runId}/hire:helper#1`, `lead ${runId}`];
    expect(who).toEqual([hired, hired, own, own]);
  },
);
