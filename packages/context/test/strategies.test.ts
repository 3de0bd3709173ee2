import { describe, expect, test } from "vitest";
import { type ChatMessage, type FilePart, textOf, type ToolMessage } from "@ravi/kernel";
import {
  compose,
  estimateTokens,
  SelectiveToolCall,
  SlidingWindow,
  Summarization,
  TokenBudget,
  ToolResultCompaction,
  Truncation,
  validPrompt,
} from "@ravi/context";
import { writer } from "./support/models.ts";
import { longTranscript } from "./support/transcripts.ts";

const user = (content: string): ChatMessage => ({ role: "user", content });
const said = (content: string): ChatMessage => ({ role: "assistant", content });
const call = (content: string, ...ids: string[]): ChatMessage => ({
  role: "assistant",
  content,
  toolCalls: ids.map((id) => ({ id, name: "read", arguments: "{}" })),
});
const result = (toolCallId: string, content: string, isError?: boolean): ToolMessage => ({
  role: "tool",
  toolCallId,
  name: "read",
  content,
  ...(isError === undefined ? {} : { isError }),
});

test("R28: what each strategy does if it is given nothing", () => {
  expect(new SlidingWindow()).toMatchObject({ messages: 100, step: 1, keepFirst: true });
  expect(new ToolResultCompaction()).toMatchObject({ maxChars: 500, includeUnread: false });
  expect(new SelectiveToolCall()).toMatchObject({ groups: 5 });
  expect(new Truncation({ maxTokens: 7 })).toMatchObject({ maxTokens: 7, keepTokens: 7 });
  expect(new Summarization({ model: writer })).toMatchObject({
    keepRecentTokens: 32_000,
    maxSummaryTokens: 2_000,
  });
  const { share, target, lastResort } = new TokenBudget();
  expect([share, target, lastResort]).toEqual([0.8, 0.8 * 0.75, "truncate"]);
});

describe("SlidingWindow", () => {
  test("R28: keeps the newest 100 messages unless told otherwise", () => {
    const talk = Array.from({ length: 150 }, (_, n) => (n % 2 === 0 ? user(`${n}`) : said(`${n}`)));
    const window = new SlidingWindow().compact(talk);
    expect(window).toHaveLength(100);
    expect(window[0]).toBe(talk[0]);
    expect(window.slice(1)).toEqual(talk.slice(-99));
  });

  test("R28: without keepFirst it begins with the oldest user message that fits", () => {
    const talk = [user("old"), said("a"), user("b"), call("", "1"), result("1", "x"), user("c"), said("d")];
    expect(new SlidingWindow({ messages: 4, keepFirst: false }).compact(talk)).toEqual([
      user("c"),
      said("d"),
    ]);
  });

  test("R28: an agent a hundred turns into its work still sees its task", () => {
    const work = longTranscript(400);
    const talk = [...work.slice(0, 1), user("an earlier one"), said("done"), ...work.slice(1)];
    const window = new SlidingWindow({ messages: 20 }).compact(talk);
    expect(window.slice(0, 3)).toEqual([work[0], user("an earlier one"), work[1]]);
    expect(window).toHaveLength(21);
  });

  test("R28: a group larger than the window stays whole", () => {
    const talk = [
      user("old"),
      said("a"),
      user("go"),
      call("", "1", "2", "3"),
      result("1", "x"),
      result("2", "y"),
      result("3", "z"),
    ];
    expect(new SlidingWindow({ messages: 2 }).compact(talk)).toEqual(talk.slice(2));
  });

  test("R28: with a step, the window's beginning stays put for several turns", () => {
    const work = longTranscript(300);
    const starts = new Set<ChatMessage | undefined>();
    const strategy = new SlidingWindow({ messages: 50, step: 20 });
    for (let length = 200; length < 240; length += 2) starts.add(strategy.compact(work.slice(0, length))[2]);
    expect(starts.size).toBeLessThanOrEqual(3);
  });

  test.each([
    { messages: 0 },
    { messages: 1.5 },
    { messages: Number.NaN },
    { step: 0 },
    { messages: 5, step: 6 },
    { mesages: 3 },
  ])("R28: %j is refused", (options) => {
    expect(() => new SlidingWindow(options)).toThrow(expect.objectContaining({ code: "INVALID_VALUE" }));
  });
});

describe("Truncation", () => {
  const count = (): number => 10;

  test("R28: the system prompt and the tools count, but a system prompt that is a message counts once", () => {
    const talk = [user("1"), said("2"), user("3"), said("4")];
    const truncation = new Truncation({ maxTokens: 50, countTokens: count });
    expect(truncation.compact(talk)).toBe(talk);
    const tools = [{ name: "read", description: "", parameters: {} }];
    expect(truncation.compact(talk, { system: "s", tools })).toEqual([talk[0], talk[2], talk[3]]);
    const carried: ChatMessage[] = [{ role: "system", content: "s" }, ...talk];
    expect(truncation.compact(carried, { system: "s" })).toBe(carried);
  });

  test("R28: messages that are sent besides the conversation count, and stay", () => {
    const talk = [user("1"), said("2"), user("3"), said("4")];
    const truncation = new Truncation({ maxTokens: 50, countTokens: count });
    const alsoSent = [user("before"), said("known")];
    expect(truncation.compact(talk, { alsoSent: alsoSent.slice(1) })).toBe(talk);
    expect(truncation.compact(talk, { alsoSent })).toEqual([talk[0], talk[2], talk[3]]);
    expect(alsoSent).toHaveLength(2);
  });

  test("R28: the first user message is the last to go", () => {
    const talk = [user("task"), said("2"), user("3"), said("4"), user("5"), said("6")];
    expect(new Truncation({ maxTokens: 40, countTokens: count }).compact(talk)).toEqual([
      talk[0],
      ...talk.slice(-3),
    ]);
    expect(new Truncation({ maxTokens: 25, countTokens: count }).compact(talk)).toEqual(talk.slice(-2));
  });

  test("R28: once it has to cut, it cuts to keepTokens", () => {
    const talk = Array.from({ length: 30 }, (_, n) => user(`${n}`));
    const truncation = new Truncation({ maxTokens: 200, keepTokens: 100, countTokens: count });
    expect(truncation.compact(talk.slice(0, 20))).toHaveLength(20);
    expect(truncation.compact(talk.slice(0, 21))).toHaveLength(10);
  });

  test("R28: each message is counted once, however often it is compacted", () => {
    let counted = 0;
    const countTokens = (): number => ++counted && 10;
    const talk = longTranscript(1_000);
    const truncation = new Truncation({ maxTokens: 1_000_000, countTokens });
    truncation.compact(talk);
    truncation.compact([...talk, user("new")]);
    expect(counted).toBe(talk.length + 1);
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY])(
    "R28: a counter that says %d is refused",
    (tokens) => {
      const truncation = new Truncation({ maxTokens: 5, countTokens: () => tokens });
      expect(() => truncation.compact([user("a")])).toThrow(/^countTokens is/);
    },
  );
});

describe("ToolResultCompaction", () => {
  const long = "0123456789".repeat(200);
  const read = [user("go"), call("", "1"), result("1", long), said("I read it.")];

  test("R28: a long result keeps its beginning and its end, and says what is missing", () => {
    const [, , cut] = new ToolResultCompaction().compact(read);
    expect(cut?.content).toMatch(
      /^0123456789.*\[… the middle of 2000 characters is left out …\].*0123456789$/s,
    );
    expect(cut?.content).toHaveLength(500);
  });

  test("R28: where the notice would be longer than what is left, only the beginning is kept", () => {
    const notice = "\n[… the middle of 2000 characters is left out …]\n";
    const cutTo = (maxChars: number) => new ToolResultCompaction({ maxChars }).compact(read)[2]?.content;
    expect(cutTo(2 * notice.length)).toContain(notice);
    expect(cutTo(2 * notice.length - 1)).toBe(long.slice(0, 2 * notice.length - 1));
  });

  test("R28: an error stays whole", () => {
    const failed = [user("go"), call("", "1"), result("1", long, true), said("It failed.")];
    expect(new ToolResultCompaction().compact(failed)).toBe(failed);
  });

  test("R28: a result that the model has not read yet stays whole unless told otherwise", () => {
    const unread = read.slice(0, 3);
    expect(new ToolResultCompaction().compact(unread)).toBe(unread);
    expect(new ToolResultCompaction({ includeUnread: true }).compact(unread)[2]?.content).toHaveLength(500);
  });

  test("R28: so does one behind which the user has said something: the model has not read it either", () => {
    const first = [user("go"), call("", "1"), result("1", long)];
    const steered = [
      ...first,
      call("", "2", "3"),
      result("2", long),
      result("3", long),
      user("Only prices."),
    ];
    const window = new ToolResultCompaction().compact(steered);
    expect(window[2]?.content).toHaveLength(500);
    expect(window.slice(3)).toEqual(steered.slice(3));
  });

  test("R28: images and files of old results are named and left out", () => {
    const shot: ToolMessage = {
      ...result("1", ""),
      content: [
        { type: "text", text: "the page: " },
        { type: "image", url: `data:image/png;base64,${long}` },
        { type: "file", url: `data:text/csv;base64,${long}`, mediaType: "text/csv", name: "sales.csv" },
      ],
    };
    const [, , cut] = new ToolResultCompaction().compact([user("go"), call("", "1"), shot, said("Seen.")]);
    expect(cut?.content).toBe("the page: [an image is left out][the file sales.csv is left out]");
  });

  test("R28: a character is never cut in two", () => {
    for (let maxChars = 1; maxChars < 300; maxChars++) {
      const talk = [user("go"), call("", "1"), result("1", "𝒳".repeat(400)), said("Read.")];
      const cut = new ToolResultCompaction({ maxChars }).compact(talk)[2]?.content as string;
      expect(cut.isWellFormed() && cut.length <= maxChars).toBe(true);
    }
  });

  test("R28: the same result is cut to the same object in each turn", () => {
    const strategy = new ToolResultCompaction();
    expect(strategy.compact(read)[2]).toBe(strategy.compact([...read, user("more")])[2]);
  });
});

describe("SelectiveToolCall", () => {
  test("R28: of older groups only the words stay", () => {
    const talk = [
      user("go"),
      call("First I look.", "1"),
      result("1", "x"),
      call("", "2"),
      result("2", "y"),
      call("Last.", "3"),
      result("3", "z"),
    ];
    expect(new SelectiveToolCall({ groups: 1 }).compact(talk)).toEqual([
      user("go"),
      said("First I look."),
      ...talk.slice(5),
    ]);
  });

  test("R28: five groups stay unless told otherwise", () => {
    const window = new SelectiveToolCall().compact(longTranscript(102));
    expect(window.filter((message) => message.role === "tool")).toHaveLength(5);
  });
});

describe("TokenBudget", () => {
  const countTokens = (): number => 10;

  test("R28: what fits into 80 % of the window is left alone, and the very list comes back", () => {
    const talk = longTranscript(80);
    const budget = new TokenBudget({ countTokens });
    expect(budget.compact(talk, { contextWindow: 1_000 })).toBe(talk);
    expect(budget.compact([...talk, user("one more")], { contextWindow: 1_000 })).not.toHaveLength(
      talk.length + 1,
    );
  });

  test("R28: by default it shortens results first, then leaves out the calls of old groups, and truncates last", () => {
    const groups = Array.from({ length: 10 }, (_, n) => [
      call(`step ${n}`, `${n}`),
      result(`${n}`, "word ".repeat(1_000)),
    ]);
    const talk = [user("go"), ...groups.flat(), said("I have read them."), user("well?")];
    const compacted = (contextWindow: number): readonly ChatMessage[] => {
      const window = new TokenBudget({ contextWindow }).compact(talk);
      return Array.isArray(window) ? window : [];
    };
    const results = (window: readonly ChatMessage[]): number[] =>
      window.filter(({ role }) => role === "tool").map((message) => textOf(message).length);
    const shortened = compacted(8_000);
    expect(shortened).toHaveLength(talk.length);
    expect(Math.max(...results(shortened))).toBeLessThanOrEqual(500);
    const selected = compacted(1_700);
    expect(results(selected)).toHaveLength(5);
    expect(selected).toContainEqual(said("step 0"));
    expect(compacted(700)).not.toContainEqual(said("step 0"));
  });

  test("R28: a result behind which the user has spoken is shortened before it is left out", () => {
    const talk = [user("go"), call("I look.", "1"), result("1", "word ".repeat(5_000)), user("Only prices.")];
    const old = [user("go"), said("Which ones?"), user("All."), ...talk.slice(1)];
    const window = new TokenBudget({ contextWindow: 8_000 }).compact(old) as readonly ChatMessage[];
    expect(window.map(({ role }) => role)).toEqual(old.map(({ role }) => role));
    expect(textOf(window.at(-2) ?? user(""))).toHaveLength(500);
    // It stays whole where there is room for it.
    expect(new TokenBudget({ contextWindow: 10_000 }).compact(old)).toBe(old);
  });

  test("of a window of its own and the model's, the smaller one counts", () => {
    const talk = longTranscript(80);
    const ownWindow = new TokenBudget({ countTokens, contextWindow: 500 });
    expect(ownWindow.compact(talk, { contextWindow: 1_000 })).not.toBe(talk);
    expect(
      new TokenBudget({ countTokens, contextWindow: 2_000 }).compact(talk, { contextWindow: 500 }),
    ).not.toBe(talk);
  });

  test("R28: strategies are tried in order, and no more of them than are needed", () => {
    const tried: string[] = [];
    const halve = (name: string) => ({
      compact(messages: readonly ChatMessage[]) {
        tried.push(name);
        return new SlidingWindow({ messages: Math.ceil(messages.length / 2) }).compact(messages);
      },
    });
    const strategies = [halve("a"), halve("b"), halve("c")];
    const budget = new TokenBudget({ strategies, countTokens, contextWindow: 500 });
    expect(budget.compact(longTranscript(100)) as readonly ChatMessage[]).toHaveLength(26);
    expect(tried).toEqual(["a", "b"]);
  });

  test("R28: the last resort leaves room, so that the next turns need none", () => {
    const budget = new TokenBudget({ strategies: [], countTokens, contextWindow: 1_000 });
    expect((budget.compact(longTranscript(200)) as readonly ChatMessage[]).length).toBe(60);
  });

  test("R28: when not even the newest turn fits, the error says what to do, and nobody retries it", () => {
    const talk = [user("go"), call("", "1"), result("1", "x".repeat(100_000))];
    const budget = new TokenBudget({ contextWindow: 8_000 });
    expect(() => budget.compact(talk)).toThrow(
      expect.objectContaining({
        kind: "CONTEXT_OVERFLOW",
        retryable: false,
        message: expect.stringMatching(
          /6400 of the 8000 tokens .* ToolResultCompaction\(\{ includeUnread: true \}\)/,
        ),
      }),
    );
    const helped = new TokenBudget({
      contextWindow: 8_000,
      strategies: [new ToolResultCompaction({ includeUnread: true, maxChars: 10_000 })],
    });
    expect(helped.compact(talk)).toHaveLength(3);
  });

  test("R28: with lastResort throw nothing is left out silently", () => {
    const budget = new TokenBudget({ strategies: [], lastResort: "throw", countTokens, contextWindow: 100 });
    expect(() => budget.compact(longTranscript(50))).toThrow(
      /takes 500 tokens, but only 80 of the 100 tokens of the context window/,
    );
  });

  test("R28: who has said too much by itself is not told to get less from a tool", () => {
    const budget = new TokenBudget({ contextWindow: 100 });
    expect(() => budget.compact([user("too much ".repeat(1_000))])).toThrow(
      /; shorten the message or the system prompt/,
    );
  });

  test("R28: the error for a request that cannot fit names what is sent besides the conversation", () => {
    const budget = new TokenBudget({ contextWindow: 1_000 });
    const alsoSent = [user("too much ".repeat(1_000))];
    expect(() => budget.compact([user("go")], { alsoSent })).toThrow(
      /the tools, the messages that every request has besides the conversation, the newest user message/,
    );
  });

  test("R28: an unknown window is an error that says where to give it", () => {
    expect(() => new TokenBudget().compact([user("a")])).toThrow(/TokenBudget\(\{ contextWindow \}\)/);
  });

  test.each([
    { share: 0 },
    { share: 1.1 },
    { share: 0.5, target: 0.6 },
    { contextWindow: 0 },
    { strategies: [{}] },
    { lastResort: "drop" },
  ])("R28: %j is refused", (options) => {
    expect(() => new TokenBudget(options as never)).toThrow(
      expect.objectContaining({ code: "INVALID_VALUE" }),
    );
  });
});

describe("compose", () => {
  test("R28: synchronous strategies give no promise; one that waits is waited for", async () => {
    const talk = longTranscript(300);
    const window = compose(new ToolResultCompaction(), new SlidingWindow({ messages: 10 })).compact(talk);
    expect(window).toHaveLength(10);
    const slow = { compact: (messages: readonly ChatMessage[]) => Promise.resolve(messages) };
    expect(await compose(slow, new SlidingWindow({ messages: 10 }), slow).compact(talk)).toEqual(window);
  });

  test("R28: what is no strategy is refused when it is composed", () => {
    expect(() => compose(new SlidingWindow(), undefined as never)).toThrow(/^compose\[1\] is undefined/);
  });
});

describe("validPrompt", () => {
  test("T7: a call that never came back gets a result that says so", () => {
    const window = validPrompt([user("go"), call("", "1", "2"), result("2", "y"), user("still there?")]);
    expect(window.map((message) => message.role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
    expect(window[3]).toMatchObject({
      toolCallId: "1",
      isError: true,
      content: expect.stringMatching(/^No result/),
    });
    expect(window[2]).toEqual(result("2", "y"));
  });

  test("T7: a group that is in order stays as it is, whatever has to be mended elsewhere", () => {
    const group = [call("", "1", "2"), result("2", "y"), result("1", "x")];
    const window = validPrompt([user("go"), ...group, result("9", "?")]);
    expect(window).toHaveLength(4);
    group.forEach((message, n) => expect(window[n + 1]).toBe(message));
  });

  test("T7: a result that was parted from its call moves back to it; one without a call is left out", () => {
    const talk = [
      result("0", "?"),
      user("go"),
      call("", "1"),
      user("hurry"),
      result("1", "x"),
      result("1", "again"),
    ];
    expect(validPrompt(talk)).toEqual([user("go"), call("", "1"), result("1", "x"), user("hurry")]);
  });

  test("T7: ids that a server uses again in each turn, or twice in one, become unique", () => {
    const turn = [call("", "call_0", "call_0"), result("call_0", "a"), result("call_0", "b")];
    const window = validPrompt([user("go"), ...turn, ...turn]);
    const ids = window.flatMap((message) =>
      message.role === "tool" ? [`${message.toolCallId}=${textOf(message)}`] : [],
    );
    expect(ids).toEqual(["call_0=a", "call_0_2=b", "call_0_3=a", "call_0_4=b"]);
    expect(validPrompt([...window])).toEqual(window);
  });

  test("T7: where a server uses an id again, a result belongs to the call that is nearest before it", () => {
    const window = validPrompt([user("go"), call("", "1"), user("again"), call("", "1"), result("1", "x")]);
    const results = window.flatMap((message) => (message.role === "tool" ? [textOf(message)] : []));
    expect(results).toEqual([expect.stringMatching(/^No result/), "x"]);
  });

  test("T7: a list that grows after it was checked is checked again", () => {
    const live: ChatMessage[] = [user("go")];
    expect(validPrompt(live)).toBe(live);
    live.push(call("", "1"));
    expect(validPrompt(live)).toHaveLength(3);
    expect(live).toHaveLength(2);
  });
});

describe("estimateTokens", () => {
  test.each([
    ["prose", "The quick brown fox jumps over the lazy dog. ", 101],
    ["code", "const total = items.reduce((sum, item) => sum + item.price, 0);\n", 190],
    ["JSON", '[{"id":12345,"name":"Acme","price":19.99,"tags":["a","b"]}]', 250],
    ["hex", "a8f3c9e17b20d4a8f3c9e17b20d4a8f3c9e17b20d4", 360],
    ["Chinese", "我们正在比较三家供应商的价格", 90],
    ["Russian", "Сравните трёх поставщиков по цене. ", 111],
    ["emoji", "👩‍🚀", 50],
  ])("R28: of %s it says no less than o200k, and at most two and a half times as much", (_, text, o200k) => {
    const tokens = estimateTokens(user(text.repeat(10)));
    expect(tokens).toBeGreaterThanOrEqual(o200k);
    expect(tokens).toBeLessThan(o200k * 2.5);
  });

  test("R28: an image costs the same whether it is linked or inline; arguments and names count", () => {
    const image = (url: string): number =>
      estimateTokens({ role: "user", content: [{ type: "image", url }] });
    expect(image("https://a.example/x.png")).toBe(image(`data:image/png;base64,${"A".repeat(100_000)}`));
    expect(estimateTokens(call("", "1"))).toBeGreaterThan(estimateTokens(said("")));
  });

  test("R28: a file of a megabyte fits into a window if it is a PDF or a picture, and not if it is a text", () => {
    const url = `data:;base64,${"A".repeat(1_000_000)}`;
    const file = (mediaType: string): number =>
      estimateTokens({ role: "user", content: [{ type: "file", url, mediaType }] });
    const image = estimateTokens({ role: "user", content: [{ type: "image", url }] });
    expect(file("image/png")).toBe(image);
    expect([file("application/pdf"), file("application/json"), file("text/csv")]).toEqual([
      100_006, 250_008, 250_008,
    ]);
    const loud: FilePart = { type: "file", url: `DATA${url.slice(4)}`, mediaType: "application/x-yaml" };
    expect(estimateTokens({ role: "user", content: [loud] })).toBe(250_008);
    const small = { type: "file", url: "data:,x" } as FilePart;
    expect(estimateTokens({ role: "user", content: [small] })).toBe(3_004);
  });
});
