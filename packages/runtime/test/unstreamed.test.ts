import { describe, expect, test } from "vitest";
import {
  type ChatContext,
  type LLMClient,
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
