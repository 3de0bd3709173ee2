import { type FinishReason, type ModelEvent, type ModelResponse, textOf, type Usage } from "@ravi/kernel";
import { expect } from "vitest";
import type { Answer } from "../../answers/answer.ts";
import {
  ask,
  type ModelAbility,
  type ModelCase,
  type ModelStage,
  readStream,
  waysOf,
  NO_STREAM,
} from "./stage.ts";

const LONG = "Grüße aus Oslo — 東京 👩‍👩‍👧‍👦 and back.\n\n".repeat(40);

const TEXTS: readonly (readonly [what: string, text: string])[] = [
  ["a plain answer", "It rains in Oslo."],
  ["a long answer in many scripts", LONG],
  ["an empty answer", ""],
  ["an answer that looks like the protocol", 'data: [DONE]\n\nevent: error\n{"error":{"message":"no"}}'],
];

export const answerCases: readonly ModelCase[] = [
  {
    rule: "T10",
    says: "says who it is",
    async run(stage) {
      const { client } = await stage.open(["ok"]);
      expect(client.id).not.toBe("");
      expect(client.info.provider).not.toBe("");
      expect(client.info.model).not.toBe("");
      if (stage.has("streaming") && client.stream === undefined) throw new Error(NO_STREAM);
      expect(typeof client.stream).toBe(stage.has("streaming") ? "function" : "undefined");
    },
  },
  ...TEXTS.map(textCase),
  {
    rule: "T10",
    says: "the deltas of the text add up to the message",
    needs: ["streaming"],
    async run(stage) {
      const { client } = await stage.open([LONG]);
      const { events, response } = await readStream(client, ask("go"));
      expect(deltasOf(events, "text")).toBe(LONG);
      expect(textOf(response.message)).toBe(LONG);
      expect(events.length).toBeGreaterThan(2);
    },
  },
  {
    rule: "T10",
    says: "a streamed answer is the same as a whole one",
    needs: ["streaming"],
    async run(stage) {
      for (const answer of sameEitherWay(stage)) {
        const { client } = await stage.open([answer, answer]);
        const one = await client.generate(ask("go"));
        const two = await readStream(client, ask("go"));
        expect(withoutIds(two.response, stage)).toEqual(withoutIds(one, stage));
      }
    },
  },
  {
    rule: "T10",
    says: "after the end of a stream nothing follows",
    needs: ["streaming"],
    async run(stage) {
      const { client } = await stage.open(["ok"]);
      const stream = client.stream?.(ask("go"))[Symbol.asyncIterator]();
      if (stream === undefined) throw new Error("there is no stream");
      let last: ModelEvent | undefined;
      for (let step = await stream.next(); step.done !== true; step = await stream.next()) last = step.value;
      expect(last?.type).toBe("finish");
      expect(await stream.next()).toEqual({ done: true, value: undefined });
    },
  },
  {
    rule: "T10",
    says: "reasoning is kept apart from the text",
    needs: ["reasoning"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ reasoning: "Rain is likely. So:", text: "Take a coat." }]);
        const { message } = await way.call(client, ask("go"));
        expect(reasoningOf(message.content)).toBe("Rain is likely. So:");
        expect(textOf(message)).toBe("Take a coat.");
      }
    },
  },
  {
    rule: "T10",
    says: "the deltas of the reasoning add up, and come before the text",
    needs: ["reasoning", "streaming"],
    async run(stage) {
      const { client } = await stage.open([{ reasoning: "Rain is likely. So:", text: "Take a coat." }]);
      const { events } = await readStream(client, ask("go"));
      expect(deltasOf(events, "reasoning")).toBe("Rain is likely. So:");
      expect(deltasOf(events, "text")).toBe("Take a coat.");
      const types = events.map(({ type }) => type);
      expect(types.lastIndexOf("reasoning")).toBeLessThan(types.indexOf("text"));
    },
  },
  usageCase("input and output", { inputTokens: 120, outputTokens: 17 }),
  usageCase(
    "cached input, which the input includes",
    {
      inputTokens: 120,
      outputTokens: 17,
      cachedInputTokens: 90,
    },
    "cachedUsage",
  ),
  usageCase(
    "tokens written to the cache, which the input includes",
    {
      inputTokens: 120,
      outputTokens: 17,
      cacheWriteTokens: 30,
    },
    "cacheWriteUsage",
  ),
  usageCase(
    "reasoning, which the output includes",
    {
      inputTokens: 120,
      outputTokens: 17,
      reasoningTokens: 11,
    },
    "reasoningUsage",
  ),
  {
    rule: "T10",
    says: "usage that the server does not say is left out, not zero",
    needs: ["silentUsage"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ text: "ok", usage: null }]);
        expect((await way.call(client, ask("go"))).usage).toBeUndefined();
      }
    },
  },
  ...(["length", "refused", "filtered"] as const).map(finishCase),
];

function usageCase(what: string, usage: Usage, needs?: ModelAbility): ModelCase {
  return {
    rule: "T10",
    says: `usage: ${what}`,
    ...(needs === undefined ? {} : { needs: [needs] }),
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ text: "ok", usage }]);
        expect((await way.call(client, ask("go"))).usage).toMatchObject(usage);
      }
    },
  };
}

function finishCase(finishReason: FinishReason & ModelAbility): ModelCase {
  return {
    rule: "T10",
    says: `an answer that ended as ${finishReason} says so`,
    needs: [finishReason],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ text: "I could n", finishReason }]);
        expect((await way.call(client, ask("go"))).finishReason).toBe(finishReason);
      }
    },
  };
}

function sameEitherWay(stage: ModelStage): readonly Answer[] {
  const usage = { inputTokens: 12, outputTokens: 5 };
  const all: readonly (readonly [ModelAbility | undefined, Answer])[] = [
    [undefined, { text: LONG, usage }],
    ["reasoning", { reasoning: "Hm. Well.", text: "ok", usage }],
    ["length", { text: "cut o", finishReason: "length", usage }],
    [
      "tools",
      {
        text: "I look.",
        toolCalls: [
          { name: "search", arguments: { query: "weather" } },
          { name: "search", arguments: {} },
        ],
        usage,
      },
    ],
  ];
  return all.filter(([needs]) => needs === undefined || stage.has(needs)).map(([, answer]) => answer);
}

/** What two calls with the same answer have in common: not the ids and the opaque data, which may differ with each. */
function withoutIds({ message, ...response }: ModelResponse, stage: ModelStage): object {
  const { content } = message;
  const parts =
    typeof content === "string" ? content : content.map((part) => ({ ...part, opaque: undefined }));
  const toolCalls = message.toolCalls?.map(({ id, ...call }) => ({
    ...call,
    id: stage.has("callIds") ? id : undefined,
    opaque: undefined,
  }));
  return { ...response, id: undefined, message: { ...message, content: parts, toolCalls } };
}

function deltasOf(events: readonly ModelEvent[], type: "text" | "reasoning"): string {
  return events.flatMap((event) => (event.type === type ? [event.delta] : [])).join("");
}

function reasoningOf(content: ModelResponse["message"]["content"]): string {
  if (typeof content === "string") return "";
  return content.flatMap((part) => (part.type === "reasoning" ? [part.text] : [])).join("");
}

function textCase([what, text]: readonly [what: string, text: string]): ModelCase {
  return {
    rule: "T10",
    says: `${what} comes as it was sent`,
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client, asked } = await stage.open([text]);
        const response = await way.call(client, ask("How is the weather in Oslo?"));
        expect(response.message.role).toBe("assistant");
        expect(textOf(response.message)).toBe(text);
        expect(response.message.toolCalls ?? []).toEqual([]);
        expect(response.finishReason).toBe("stop");
        expect(asked).toHaveLength(1);
      }
    },
  };
}
