import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type ChatMessage, type LLMClient, type ModelRequest, textOf } from "@ravi/kernel";
import {
  compose,
  estimateTokens,
  SlidingWindow,
  Summarization,
  SUMMARY_NAME,
  TokenBudget,
} from "@ravi/context";
import { type RecordingContext, recordingContext, writer } from "./support/models.ts";
import { problemsOf } from "./support/oracle.ts";
import { longTranscript, runs, transcript } from "./support/transcripts.ts";

vi.setConfig({ testTimeout: runs(20_000, 900_000) });

const countTokens = (): number => 10;
const summarization = (more: { maxSummaryTokens?: number } = {}) =>
  new Summarization({ model: writer, keepRecentTokens: 200, triggerTokens: 500, countTokens, ...more });

const asked = (request: ModelRequest | undefined): string => textOf(request?.messages[1] ?? { content: "" });

describe("Summarization", () => {
  test("R28: nothing is called and nothing changes before the trigger", () => {
    const context = recordingContext();
    const talk = longTranscript(50);
    expect(summarization().compact(talk, context)).toBe(talk);
    expect(context.requests).toEqual([]);
  });

  test("R28: past it, older messages become one summary; system, task and the recent ones stay", async () => {
    const context = recordingContext();
    const talk = longTranscript(52);
    const window = await summarization().compact(talk, context);
    expect(window.slice(0, 2)).toEqual(talk.slice(0, 2));
    expect(window[2]).toMatchObject({ role: "user", name: SUMMARY_NAME });
    expect(textOf(window[2] ?? { content: "" })).toBe("[Summary of the earlier conversation]\nnotes 1");
    expect(window.slice(3)).toEqual(talk.slice(-20));
    expect(context.requests).toHaveLength(1);
    expect(context.requests[0]?.maxOutputTokens).toBe(2_000);
    expect(asked(context.requests[0])).toContain('calls read({"n":14})');
    expect(asked(context.requests[0])).not.toContain('calls read({"n":15})');
  });

  test.each([
    ["system prompt", undefined],
    ["system prompt", 700],
    ["system prompt", 300],
    ["first message", undefined],
    ["first message", 700],
    ["first message", 300],
  ])(
    "R28: a long %s is no reason to pay for a summary in each turn (triggerTokens: %s)",
    async (what, triggerTokens) => {
      const system = what === "system prompt" ? "long" : "short";
      const context = { ...recordingContext(), system, contextWindow: 10_000 };
      const count = ({ content }: ChatMessage): number => (content === "long" ? 500 : 10);
      const options = { model: writer, keepRecentTokens: 200, triggerTokens, countTokens: count };
      const strategy = new Summarization(options);
      const talk = longTranscript(402).slice(2);
      let window: readonly ChatMessage[] = [
        { role: "user", content: what === "first message" ? "long" : "short" },
      ];
      for (let at = 0; at < 400; at += 2)
        window = await strategy.compact([...window, ...talk.slice(at, at + 2)], context);
      expect(problemsOf(window)).toEqual([]);
      expect(context.requests.length).toBeGreaterThan(10);
      expect(context.requests.length).toBeLessThan(80);
    },
  );

  test.each(["the whole transcript", "its own window and what is new"])(
    "R28: given %s in each turn, an earlier summary is extended, not made again",
    async (mode) => {
      const context = recordingContext();
      const strategy = summarization();
      const talk = longTranscript(200);
      let fed: readonly ChatMessage[] = talk.slice(0, 40);
      for (let length = 40; length <= 200; length += 2) {
        if (mode !== "the whole transcript" && length > 40) fed = [...fed, ...talk.slice(length - 2, length)];
        const input = mode === "the whole transcript" ? talk.slice(0, length) : fed;
        const window = await strategy.compact(input, { ...context, system: "s", tools: [] });
        expect(problemsOf(window)).toEqual([]);
        expect(window.length * 10 + 10).toBeLessThanOrEqual(500);
        if (mode !== "the whole transcript") fed = window;
      }
      expect(context.requests.length).toBeGreaterThan(3);
      expect(context.requests.length).toBeLessThan(10);
      const quoted = context.requests.flatMap((request) => asked(request).match(/"n":\d+/g) ?? []);
      expect(new Set(quoted).size).toBe(quoted.length);
      context.requests.slice(1).forEach((request, n) => {
        expect(asked(request)).toContain(`<notes>\nnotes ${n + 1}\n</notes>`);
      });
    },
  );

  test("R28: another execution never sees a summary that is not in its journal", async () => {
    const strategy = summarization();
    const talk = longTranscript(60);
    const [one, two] = [recordingContext(), recordingContext()];
    await strategy.compact(talk, one);
    await strategy.compact(talk, two);
    expect(two.requests).toEqual(one.requests);
    // Contexts of one class have their method in common, and are told apart all the same.
    class Shared {
      readonly requests: ModelRequest[] = [];
      llm(_model: LLMClient, request: ModelRequest) {
        this.requests.push(request);
        return Promise.resolve({
          message: { role: "assistant", content: "n" },
          finishReason: "stop",
        } as const);
      }
    }
    const [three, four] = [new Shared(), new Shared()];
    await strategy.compact(talk, three);
    await strategy.compact(talk, three);
    await strategy.compact(talk, four);
    expect([three.requests.length, four.requests.length]).toEqual([1, 1]);
  });

  test("R28: a history that was rewritten gets a summary of its own", async () => {
    const context = recordingContext();
    const strategy = summarization();
    const talk = longTranscript(60);
    await strategy.compact(talk, context);
    const other = talk.with(5, { role: "tool", toolCallId: "call_1", name: "read", content: "other" });
    await strategy.compact(other, context);
    expect(asked(context.requests[1])).not.toContain("<notes>");
  });

  test("R28: a history that has to be mended in each turn is not summarised in each turn", async () => {
    const context = recordingContext();
    const strategy = summarization();
    const talk = longTranscript(80).map((message): ChatMessage => {
      // A server that begins at call_0 in each turn, and one call that never came back.
      if (message.role === "tool") return { ...message, toolCallId: "call_0" };
      if (message.role !== "assistant") return message;
      return { ...message, toolCalls: [{ id: "call_0", name: "read", arguments: "{}" }] };
    });
    talk.splice(5, 1);
    for (let length = 60; length < 70; length += 2) {
      expect(problemsOf(await strategy.compact(talk.slice(0, length + 1), context))).toEqual([]);
    }
    expect(context.requests).toHaveLength(1);
  });

  test("a picture in a tool's result is named in what the writer reads", async () => {
    const context = recordingContext();
    const talk = longTranscript(60).map((message): ChatMessage => {
      const url = "data:image/png;base64,BwcH";
      return message.role === "tool" ? { ...message, content: [{ type: "image", url }] } : message;
    });
    await summarization().compact(talk, context);
    expect(asked(context.requests[0])).toMatch(/read returned: \[an image\]/);
  });

  test.each([
    ["many short messages", 300, 500],
    ["few long ones", 10, 15_000],
  ])(
    "R28: no request of a history in Chinese is longer than the writer's window: %s",
    async (_, count, length) => {
      const model: LLMClient = { ...writer, info: { ...writer.info, contextWindow: 16_000 } };
      const context = recordingContext();
      const talk = Array.from({ length: count }, (_each, n): ChatMessage => ({
        role: n % 2 === 0 ? "user" : "assistant",
        content: "我们正在比较三家供应商的价格。".repeat(length / 15),
      }));
      await new Summarization({ model, keepRecentTokens: 1_000, maxSummaryTokens: 1_000 }).compact(
        talk,
        context,
      );
      expect(context.requests.length).toBeGreaterThan(5);
      for (const { messages, maxOutputTokens = 0 } of context.requests) {
        const tokens = messages.reduce((sum, message) => sum + estimateTokens(message), maxOutputTokens);
        expect(tokens).toBeLessThan(16_000);
      }
    },
  );

  test("R28: a history far beyond the writer's window is summarised in parts, in order", async () => {
    const model: LLMClient = { ...writer, info: { ...writer.info, contextWindow: 8_000 } };
    const context = recordingContext();
    const strategy = new Summarization({ model, keepRecentTokens: 500 });
    const window = await strategy.compact(longTranscript(2_000), context);
    expect(context.requests.length).toBeGreaterThan(5);
    for (const request of context.requests) expect(asked(request).length).toBeLessThan(8_000 * 3);
    const numbers = context.requests.flatMap((request) =>
      [...asked(request).matchAll(/"n":(\d+)/g)].map((match) => Number(match[1])),
    );
    expect(numbers).toEqual(numbers.map((_, n) => n));
    expect(textOf(window[2] ?? { content: "" })).toContain(`notes ${context.requests.length}`);
  });

  test("R28: without a paid way to call the model it says so", async () => {
    await expect(async () => summarization().compact(longTranscript(60), {})).rejects.toThrow(
      /^Summarization context.llm is undefined; expected a function that calls the model, so that the call is paid for and recorded/,
    );
  });

  test.each([
    ["nothing", { text: "  " }, "FORMAT_ERROR"],
    ["a refusal", { text: "I cannot do that.", finishReason: "refused" as const }, "CONTENT_BLOCKED"],
  ])("R28: a model that writes %s is an error, and the next try begins anew", async (_, answer, kind) => {
    const strategy = summarization();
    const talk = longTranscript(60);
    const context = recordingContext({}, (n) => (n === 1 ? answer : {}));
    await expect(async () => strategy.compact(talk, context)).rejects.toMatchObject({
      kind,
      retryable: false,
    });
    expect(await strategy.compact(talk, context)).toHaveLength(23);
    expect(context.requests[1]).toEqual(context.requests[0]);
  });

  test("R28: a model that goes on and on is cut short", async () => {
    const context = recordingContext({}, () => ({ text: "z".repeat(1_000_000), finishReason: "length" }));
    const window = await summarization({ maxSummaryTokens: 100 }).compact(longTranscript(60), context);
    expect(textOf(window[2] ?? { content: "" }).length).toBeLessThan(700);
  });

  test("R28: a window that comes after it keeps the summary", async () => {
    const strategy = compose(summarization(), new SlidingWindow({ messages: 6 }));
    const window = await strategy.compact(longTranscript(60), recordingContext());
    expect(window.filter((message) => message.role === "user" && message.name === SUMMARY_NAME)).toHaveLength(
      1,
    );
    expect(window).toHaveLength(7);
  });

  test("R28: by default a summary is made at 80 % of the window, and at what is kept and 64,000 tokens at the latest", async () => {
    const requestsFor = async (messages: number, contextWindow?: number): Promise<number> => {
      const context = recordingContext(contextWindow === undefined ? {} : { contextWindow });
      const strategy = new Summarization({ model: writer, countTokens: () => 100 });
      await strategy.compact(longTranscript(messages), context);
      return context.requests.length;
    };
    // The system prompt and the task are kept.
    expect(await requestsFor(642)).toBe(0);
    expect(await requestsFor(644)).toBe(1);
    expect(await requestsFor(400, 50_000)).toBe(0);
    expect(await requestsFor(402, 50_000)).toBe(1);
  });

  test("R28: in a small context window it keeps less than 32,000 tokens", async () => {
    const context = recordingContext({ contextWindow: 4_000 });
    const strategies = [new Summarization({ model: writer })];
    const window = await new TokenBudget({ strategies, lastResort: "throw" }).compact(
      longTranscript(500),
      context,
    );
    expect(problemsOf(window)).toEqual([]);
  });

  test.each([2_048, 4_096, 8_192])(
    "R28: in a context window of %s tokens a summary leaves room for more than one step",
    async (contextWindow) => {
      const words = (tokens: number): string => "word ".repeat(Math.floor(tokens / 1.3));
      // A writer that writes as much as it may.
      const answer = (): { text: string } => ({ text: words(context.requests.at(-1)?.maxOutputTokens ?? 0) });
      const context: RecordingContext = recordingContext({ contextWindow, system: words(200) }, answer);
      const strategy = new Summarization({ model: writer });
      let window: readonly ChatMessage[] = longTranscript(2);
      for (let n = 0; n < 100; n++) {
        const call = { id: `c${n}`, name: "read", arguments: "{}" };
        const step: readonly ChatMessage[] = [
          { role: "assistant", content: "", toolCalls: [call] },
          { role: "tool", toolCallId: call.id, name: "read", content: words(contextWindow / 40) },
        ];
        window = await strategy.compact([...window, ...step], context);
      }
      expect(context.requests.length).toBeGreaterThan(3);
      expect(context.requests.length).toBeLessThan(30);
      for (const { maxOutputTokens = 0 } of context.requests) expect(maxOutputTokens).toBeGreaterThan(100);
    },
  );

  test("R28: whole random transcripts, message by message: always valid, and a summary only every so often", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, fc.integer({ min: 2, max: 30 }), async (messages, keep) => {
        const context = recordingContext();
        const strategy = new Summarization({ model: writer, keepRecentTokens: keep * 10, countTokens });
        for (let length = 1; length <= messages.length; length++) {
          const window = await strategy.compact(messages.slice(0, length), context);
          expect(problemsOf(window)).toEqual([]);
        }
        // The first comes past 2 × keep. Then a window holds keep and five more at most, and a group in the making
        // counts as whole, which is up to four too many.
        const { length } = messages;
        const most = keep > 9 ? 1 + Math.max(0, length - 2 * keep + 4) / (keep - 9) : length;
        expect(context.requests.length).toBeLessThanOrEqual(most);
      }),
      { numRuns: runs(100, 10_000) },
    );
  });
});
