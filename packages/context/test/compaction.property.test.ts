import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { ChatMessage, CompactionStrategy, ToolSpec } from "@ravi/kernel";
import {
  compose,
  estimateTokens,
  SelectiveToolCall,
  SlidingWindow,
  Summarization,
  SUMMARY_NAME,
  TokenBudget,
  ToolResultCompaction,
  Truncation,
} from "@ravi/context";
import { keepsOrder, naiveSlice, problemsOf } from "./support/oracle.ts";
import { recordingContext, writer } from "./support/models.ts";
import { runs, transcript } from "./support/transcripts.ts";

const RUNS = runs(300, 50_000);
vi.setConfig({ testTimeout: runs(20_000, 900_000) });
const system = "Be brief and exact.";
const tools: ToolSpec[] = [{ name: "read", description: "Reads a file.", parameters: { type: "object" } }];
const context = () => recordingContext({ contextWindow: 4_000, system, tools });

const small = fc.integer({ min: 1, max: 40 });
const single: fc.Arbitrary<CompactionStrategy> = fc.oneof(
  fc
    .record({ messages: small, step: fc.integer({ min: 1, max: 9 }), keepFirst: fc.boolean() })
    .map(({ step, ...options }) => new SlidingWindow({ ...options, step: Math.min(step, options.messages) })),
  fc.integer({ min: 1, max: 6_000 }).map((maxTokens) => new Truncation({ maxTokens })),
  fc
    .record({ maxChars: fc.integer({ min: 1, max: 600 }), includeUnread: fc.boolean() })
    .map((options) => new ToolResultCompaction(options)),
  fc.integer({ min: 1, max: 6 }).map((groups) => new SelectiveToolCall({ groups })),
  fc
    .integer({ min: 1, max: 3_000 })
    .map((keepRecentTokens) => new Summarization({ model: writer, keepRecentTokens })),
);
const strategy = fc.oneof(
  single,
  fc.array(single, { maxLength: 4 }).map((list) => compose(...list)),
);

/** What a composition mends of a strategy from elsewhere; where that begins is its own affair. */
const faultsOf = (prompt: readonly ChatMessage[]): string[] =>
  problemsOf(prompt).filter((problem) => !problem.endsWith("begins with calls"));

describe("R28: every strategy and every composition", () => {
  test("R28: gives a prompt that is paired, with unique ids, never empty, and that does not begin in mid-work", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, strategy, async (messages, chosen) => {
        const window = await chosen.compact(messages, context());
        expect(problemsOf(window)).toEqual([]);
        expect(window.length).toBeGreaterThan(0);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: is a view: the transcript and its messages stay as they are", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, strategy, async (messages, chosen) => {
        const before = JSON.stringify(messages);
        const own = [...messages];
        await chosen.compact(own, context());
        expect(JSON.stringify(own)).toBe(before);
        expect(own).toHaveLength(messages.length);
        expect(own.every((message, at) => message === messages[at])).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: keeps the system messages at the front, the newest user message and the newest message", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, strategy, async (messages, chosen) => {
        const window = await chosen.compact(messages, context());
        const front = messages.findIndex((message) => message.role !== "system");
        expect(window.slice(0, front)).toEqual(messages.slice(0, front));
        expect(window).toContain(messages.findLast((message) => message.role === "user"));
        const [last, given] = [window.at(-1), messages.at(-1)];
        expect(last?.role).toBe(given?.role);
        if (given?.role !== "tool") expect(last).toBe(given);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: keeps the order", async () => {
    const same = (made: ChatMessage, given: ChatMessage): boolean =>
      made === given ||
      (made.role === "tool" && given.role === "tool" && made.toolCallId === given.toolCallId) ||
      (made.role === "assistant" && given.role === "assistant" && made.toolCalls === undefined);
    await fc.assert(
      fc.asyncProperty(transcript, strategy, async (messages, chosen) => {
        const window = await chosen.compact(messages, context());
        const spoken = window.filter(
          (message) => !(message.role === "user" && message.name === SUMMARY_NAME),
        );
        expect(keepsOrder(spoken, messages, same)).toBe(true);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: applied to its own window changes nothing more", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, single, async (messages, chosen) => {
        fc.pre(!(chosen instanceof Summarization));
        const once = await chosen.compact(messages, context());
        expect(await chosen.compact([...once], context())).toEqual(once);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: says the same of the same transcript, whoever else was served before (a replay sees the same window)", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, transcript, strategy, async (messages, other, chosen) => {
        const first = await chosen.compact(messages, context());
        await chosen.compact(other, context());
        const copy = JSON.parse(JSON.stringify(messages)) as ChatMessage[];
        expect(await chosen.compact(copy, context())).toEqual(first);
      }),
      { numRuns: RUNS },
    );
  });
});

const tokensOf = (messages: readonly ChatMessage[]): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0) +
  estimateTokens({ role: "system", content: system }) +
  tools.reduce((sum, tool) => sum + estimateTokens({ role: "system", content: JSON.stringify(tool) }), 0);

const lastGroup = (messages: readonly ChatMessage[]): readonly ChatMessage[] =>
  messages.slice(messages.findLastIndex((message) => message.role !== "tool"));

/** What no strategy may leave out: system messages, the newest user message, the newest group. */
const least = (messages: readonly ChatMessage[]): readonly ChatMessage[] => {
  const front = messages.findIndex((message) => message.role !== "system");
  const newest = messages.findLast((message) => message.role === "user");
  return [...new Set([...messages.slice(0, front), ...(newest ? [newest] : []), ...lastGroup(messages)])];
};

describe("R28: bounds hold where they can", () => {
  test("R28: SlidingWindow keeps at most `messages`, and all of them that fit", () => {
    fc.assert(
      fc.property(transcript, small, fc.boolean(), (messages, count, keepFirst) => {
        const window = new SlidingWindow({ messages: count, keepFirst }).compact(messages);
        const talk = (list: readonly ChatMessage[]): number =>
          list.length - list.findIndex((message) => message.role !== "system");
        expect(talk(window)).toBeLessThanOrEqual(Math.max(count, talk(least(messages))));
        if (talk(messages) <= count) expect(window).toBe(messages);
        // A group has five messages at most and two more are pinned, so less than that is wasted.
        else if (keepFirst) expect(talk(window)).toBeGreaterThan(Math.min(count, talk(messages)) - 7);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: Truncation counts messages, system prompt and tools, and fits if anything can", () => {
    fc.assert(
      fc.property(transcript, fc.integer({ min: 1, max: 8_000 }), (messages, maxTokens) => {
        const window = new Truncation({ maxTokens }).compact(messages, { system, tools });
        expect(tokensOf(window)).toBeLessThanOrEqual(Math.max(maxTokens, tokensOf(least(messages))));
        if (tokensOf(messages) <= maxTokens) expect(window).toBe(messages);
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: ToolResultCompaction leaves no long result but errors and what is unread", () => {
    fc.assert(
      fc.property(transcript, fc.integer({ min: 1, max: 900 }), (messages, maxChars) => {
        const window = new ToolResultCompaction({ maxChars }).compact(messages);
        const lastSaid = messages.findLastIndex(({ role }) => role === "assistant");
        const unread = new Set<ChatMessage>(messages.slice(lastSaid + 1));
        window.forEach((message, at) => {
          if (message.role !== "tool" || message.isError === true || unread.has(message)) {
            expect(message).toBe(messages[at]);
          } else if (typeof message.content === "string") {
            expect(message.content.length).toBeLessThanOrEqual(maxChars);
            expect(message.content.isWellFormed()).toBe(true);
          }
        });
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: SelectiveToolCall keeps the newest groups whole and no other", () => {
    fc.assert(
      fc.property(transcript, fc.integer({ min: 1, max: 6 }), (messages, groups) => {
        const calling = (list: readonly ChatMessage[]): ChatMessage[] =>
          list.filter((message) => message.role === "assistant" && message.toolCalls !== undefined);
        const window = new SelectiveToolCall({ groups }).compact(messages);
        expect(calling(window)).toEqual(calling(messages).slice(-groups));
        expect(window.filter((m) => m.role === "user")).toEqual(messages.filter((m) => m.role === "user"));
      }),
      { numRuns: RUNS },
    );
  });

  test("R28: TokenBudget fits into its share, or says that nothing could", async () => {
    await fc.assert(
      fc.asyncProperty(
        transcript,
        fc.array(single, { maxLength: 3 }),
        fc.integer({ min: 50, max: 9_000 }),
        async (messages, strategies, contextWindow) => {
          const limit = Math.floor(contextWindow * 0.8);
          const given = recordingContext({ contextWindow, system, tools });
          try {
            const window = await new TokenBudget({ strategies }).compact(messages, given);
            expect(tokensOf(window)).toBeLessThanOrEqual(limit);
            expect(problemsOf(window)).toEqual([]);
          } catch (error) {
            expect(error).toMatchObject({
              code: "PROVIDER_ERROR",
              kind: "CONTEXT_OVERFLOW",
              retryable: false,
            });
            // A cut result may still leave its group smaller than it was, never larger.
            expect(tokensOf(least(messages))).toBeGreaterThan(limit);
          }
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe("the oracle bites", () => {
  const fails = (property: fc.IProperty<[readonly ChatMessage[], number]>): boolean =>
    fc.check(property, { numRuns: 300 }).failed;

  test("R28: a strategy that cuts after a number of messages is caught", () => {
    const caught = fails(
      fc.property(transcript, fc.integer({ min: 1, max: 40 }), (messages, count) => {
        expect(faultsOf(naiveSlice(count).compact(messages) as readonly ChatMessage[])).toEqual([]);
      }),
    );
    expect(caught).toBe(true);
  });

  test.each<[string, (messages: readonly ChatMessage[]) => readonly ChatMessage[]]>([
    ["drops results and keeps calls", (list) => list.filter((message) => message.role !== "tool")],
    ["drops calls and keeps results", (list) => list.filter((m) => m.role !== "assistant")],
    ["drops one result of a group", (list) => list.filter((m) => m.role !== "tool" || m.name !== "tool1")],
    ["repeats a group", (list) => [...list, ...lastGroup(list)]],
    ["keeps only the last group", (list) => lastGroup(list)],
    ["turns the list round", (list) => list.toReversed()],
  ])("R28: a strategy that %s is caught", (_, broken) => {
    expect(
      fails(
        fc.property(transcript, fc.nat(), (messages, _count) =>
          expect(problemsOf(broken(messages))).toEqual([]),
        ),
      ),
    ).toBe(true);
  });

  test("R28: a naive strategy inside a composition or a budget is mended", async () => {
    await fc.assert(
      fc.asyncProperty(transcript, small, async (messages, count) => {
        const naive = naiveSlice(count);
        expect(faultsOf(await compose(naive).compact(messages))).toEqual([]);
        const budget = new TokenBudget({ strategies: [naive], contextWindow: 100_000, share: 0.01 });
        const made = await Promise.resolve()
          .then(() => budget.compact(messages))
          .catch(() => []);
        expect(faultsOf(made)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });
});
