import { type ChatMessage, type LLMClient, NO_USAGE, ProviderError, type Usage } from "@ravi/kernel";
import { readStream } from "@ravi/kernel/loop";
import { describe, expect, expectTypeOf, test } from "vitest";
import { type Answer, scriptedModel } from "../src/index.ts";
import { ask, collect } from "./helpers.ts";

describe("a script", () => {
  test("in sequence: each call gets the next answer", async () => {
    const model = scriptedModel(["one", { text: "two" }, ""]);
    const texts = [];
    for (const question of ["a", "b", "c"]) texts.push((await model.generate(ask(question))).message.content);
    expect(texts).toEqual(["one", "two", ""]);
  });

  test("in sequence: an answer may be a function of the request", async () => {
    const model = scriptedModel([
      "one",
      ({ messages }, call) => `${call}: ${messages.length}`,
      { text: "three" },
    ]);
    const texts = [];
    for (const question of ["a", "b", "c"]) texts.push((await model.generate(ask(question))).message.content);
    expect(texts).toEqual(["one", "1: 1", "three"]);
  });

  test("in sequence: calls at once get their answers in the order in which they were made", async () => {
    const model = scriptedModel([{ text: "slow", delayMs: 5 }, "quick"]);
    const answers = await Promise.all([model.generate(ask("a")), model.generate(ask("b"))]);
    expect(answers.map((answer) => answer.message.content)).toEqual(["slow", "quick"]);
  });

  test("by function: it sees the request and the number of the call, and may be async", async () => {
    const model = scriptedModel(async (request, index) => `${index}: ${request.messages.length} messages`);
    await model.generate(ask("a"));
    expect((await model.generate(ask("b"))).message.content).toBe("1: 1 messages");
  });

  test("by matcher: a string, a pattern or a function, on the last text of a user or a tool", async () => {
    const model = scriptedModel([
      { when: "weather", answer: { toolCalls: [{ name: "forecast" }] } },
      { when: /^rain/g, answer: "Take an umbrella." },
      { when: (request) => request.messages.length === 1, answer: (_, index) => `call ${index}` },
    ]);
    const first = await model.generate(ask("How is the weather?"));
    const messages: ChatMessage[] = [
      { role: "user", content: "How is the weather?" },
      first.message,
      {
        role: "tool",
        toolCallId: "call_0",
        name: "forecast",
        content: [{ type: "text", text: "rain all day" }],
      },
    ];
    expect(first.finishReason).toBe("toolCalls");
    // Twice: a pattern with /g must not remember where it stopped.
    expect((await model.generate({ messages })).message.content).toBe("Take an umbrella.");
    expect((await model.generate({ messages })).message.content).toBe("Take an umbrella.");
    expect((await model.generate(ask("something else"))).message.content).toBe("call 3");
  });

  test("that runs out shows the request that nobody expected", async () => {
    const model = scriptedModel(["only one"]);
    await model.generate(ask("first"));
    const tools = [{ name: "search", description: "", parameters: {} }];
    const second = model.generate({
      messages: [...ask("first").messages, ...ask("and then?").messages],
      tools,
    });
    await expect(second).rejects.toThrow(/call 2 is "and then\?".*the script has 1 answers/);
    await expect(second).rejects.toThrow(/user: first\n {2}user: and then\?\n {2}tools: search/);
    await expect(second).rejects.toMatchObject({ code: "INVALID_VALUE", retryable: false });
  });

  test("whose matchers do not fit says which were tried", async () => {
    const model = scriptedModel([
      { when: /rain/, answer: "x" },
      { when: "snow", answer: "y" },
    ]);
    await expect(model.generate(ask("sun"))).rejects.toThrow(/call 1 is "sun".*\/rain\/, snow/);
  });

  test("whose function gives nothing shows the request", async () => {
    const answers: Answer[] = [];
    const model = scriptedModel((_, index) => answers[index] as Answer);
    await expect(model.generate(ask("who?"))).rejects.toThrow(
      /the script gave is undefined.*\n {2}user: who\?/,
    );
  });

  test("is taken as it is when the model is made", async () => {
    const answers = ["before"];
    const model = scriptedModel(answers);
    answers[0] = "after";
    expect((await model.generate(ask("a"))).message.content).toBe("before");
  });

  test("that is no script is refused when the model is made", () => {
    expect(() => scriptedModel(["text", { when: "x", answer: "y" }])).toThrow(/this list has both/);
    expect(() => scriptedModel(undefined as never)).toThrow(
      /script is undefined; expected a list of answers, a list of matchers/,
    );
  });

  test.each([
    [{ toolcalls: [] }, /answer\.toolcalls.*no field of that name/],
    [{ text: 5 }, /answer\.text is 5; expected a string/],
    [{ finishReason: "tool_calls" }, /answer\.finishReason is "tool_calls"; expected one of stop, toolCalls/],
    [{ toolCalls: [{ arguments: {} }] }, /answer\.toolCalls\[0\]\.name is undefined/],
    [{ usage: { inputTokens: -1 } }, /answer\.usage\.inputTokens is -1/],
    [{ usage: { input: 1 } }, /answer\.usage\.input is 1; expected no field of that name/],
    [{ toolCalls: { name: "x" } }, /answer\.toolCalls is an object; expected a list/],
    [{ delayMs: Infinity }, /answer\.delayMs is Infinity.*hang/],
    [{ error: "text" }, /answer\.error is "text"; expected an Error/],
    [{ fault: { type: "explode" } }, /answer\.fault\.type is "explode"; expected one of hang, cut/],
    [{ fault: { type: "status", status: 200 } }, /answer\.fault\.status is 200/],
    [{ fault: { type: "status", status: 600 } }, /answer\.fault\.status is 600/],
    [{ fault: { type: "cut", afterDeltas: -1 } }, /answer\.fault\.afterDeltas is -1/],
    [{ fault: { type: "hang", after: 1 } }, /answer\.fault\.after is 1; expected no field of that name/],
    [5, /answer is 5/],
  ])("refuses the answer %o", async (answer, message) => {
    await expect(scriptedModel([answer as never]).generate(ask("a"))).rejects.toThrow(message);
  });
});

describe("an answer", () => {
  test("has ids, a finish reason and a usage by itself", async () => {
    const model = scriptedModel([
      { text: "12345678", toolCalls: [{ name: "add", arguments: { a: 1 } }, { name: "now" }] },
      "123456789",
    ]);
    expect(await model.generate(ask("1234"))).toEqual({
      message: {
        role: "assistant",
        content: "12345678",
        toolCalls: [
          { id: "call_0", name: "add", arguments: '{"a":1}' },
          { id: "call_1", name: "now", arguments: "{}" },
        ],
      },
      finishReason: "toolCalls",
      // 4 characters in; 8 of text, 3 + 7 and 3 + 2 of calls out: 23 characters.
      usage: { inputTokens: 1, outputTokens: 6 },
      id: "scripted-0",
    });
    expect(await model.generate(ask("12345"))).toMatchObject({
      finishReason: "stop",
      usage: { inputTokens: 2, outputTokens: 3 },
    });
  });

  test("counts tools, schemas, calls and attachments as input", async () => {
    const model = scriptedModel(() => "x");
    const inputOf = async (request: Parameters<LLMClient["generate"]>[0]): Promise<number> =>
      (await model.generate(request)).usage?.inputTokens ?? 0;
    const tools = [{ name: "t", description: "d", parameters: { type: "object" } }];
    const plain = ask("1234").messages;
    expect(await inputOf({ messages: [] })).toBe(1);
    expect(await inputOf({ messages: plain, tools: [] })).toBe(1);
    expect(await inputOf({ messages: plain, tools })).toBe(1 + Math.ceil(JSON.stringify(tools).length / 4));
    expect(await inputOf({ messages: plain, output: { name: "n", schema: { type: "object" } } })).toBe(6);
    const image = { type: "image", url: "data:image/png;base64,AAAA" } as const;
    expect(await inputOf({ messages: [{ role: "user", content: [image] }] })).toBe(85);
    const calls = [{ id: "c", name: "1234", arguments: "5678" }];
    expect(await inputOf({ messages: [{ role: "assistant", content: "", toolCalls: calls }] })).toBe(2);
  });

  test("says what the script says", async () => {
    const counts: Omit<Required<Usage>, "inputTokens"> = {
      outputTokens: 7,
      cachedInputTokens: 1,
      cacheWriteTokens: 5,
      cacheWrite1hTokens: 3,
      reasoningTokens: 2,
    };
    const model = scriptedModel([
      {
        text: "t",
        reasoning: "because",
        toolCalls: [{ id: "mine", name: "f", arguments: "{broken" }],
        finishReason: "length",
        usage: counts,
        id: "id",
        model: "small-2026",
      },
      { text: "t", usage: null },
      { text: "t", usage: NO_USAGE },
    ]);
    expect(await model.generate(ask("1234"))).toEqual({
      message: {
        role: "assistant",
        content: [
          { type: "reasoning", text: "because" },
          { type: "text", text: "t" },
        ],
        toolCalls: [{ id: "mine", name: "f", arguments: "{broken" }],
      },
      finishReason: "length",
      usage: { inputTokens: 1, ...counts },
      id: "id",
      model: "small-2026",
    });
    expect(await model.generate(ask("1234"))).not.toHaveProperty("usage");
    expect((await model.generate(ask("1234"))).usage).toEqual(NO_USAGE);
  });

  test("streams in small pieces, then finishes with the whole response", async () => {
    const answer = {
      text: "Hello, 👩‍🚀 world",
      reasoning: "hmm, let me see",
      toolCalls: [{ name: "add", arguments: { first: 1, second: 2 } }],
    };
    const whole = await scriptedModel([answer]).generate(ask("a"));
    for (const chunkSize of [1, 3, 8, 1_000]) {
      const events = await collect(scriptedModel([answer], { chunkSize }).stream(ask("a")));
      const deltas = events.slice(0, -1).map((event) => (event.type === "finish" ? "" : event.delta));
      const joined = (type: string): string =>
        events.map((event) => (event.type === type && "delta" in event ? event.delta : "")).join("");
      expect(events.at(-1)).toEqual({ type: "finish", response: whole });
      expect([joined("reasoning"), joined("text"), joined("toolCall")]).toEqual([
        answer.reasoning,
        answer.text,
        '{"first":1,"second":2}',
      ]);
      expect(deltas.every((delta) => delta.length <= chunkSize + 1 && delta.isWellFormed())).toBe(true);
      expect(events.find((event) => event.type === "toolCall")).toMatchObject({
        id: "call_0",
        name: "add",
        delta: "",
      });
    }
  });

  test("that is empty still finishes", async () => {
    const events = await collect(scriptedModel([""]).stream(ask("a")));
    expect(events).toMatchObject([
      { type: "finish", response: { message: { content: "" }, finishReason: "stop" } },
    ]);
  });

  test("is read by the kernel's own reader", async () => {
    let text = "";
    const response = await readStream(scriptedModel(["a longer text"]).stream(ask("a")), (event) => {
      text += event.delta;
    });
    expect([text, response.message.content]).toEqual(["a longer text", "a longer text"]);
  });
});

describe("what is recorded", () => {
  test("is the request as it was, though the list grows afterwards", async () => {
    const messages: ChatMessage[] = [{ role: "user", content: "first" }];
    const model = scriptedModel(["a", "b"]);
    await model.generate({ messages }, { idempotencyKey: "k1" });
    messages.push({ role: "user", content: "second" });
    await collect(model.stream({ messages }));
    expect(model.calls).toEqual([
      { index: 0, mode: "generate", request: ask("first"), idempotencyKey: "k1" },
      { index: 1, mode: "stream", request: { messages }, idempotencyKey: undefined },
    ]);
  });

  test("copes with a list that is a proxy", async () => {
    const model = scriptedModel(["a"]);
    await model.generate({ messages: new Proxy([...ask("first").messages], {}) });
    expect(model.calls[0]?.request).toEqual(ask("first"));
  });

  test("is nothing at all when it is switched off, and numbers still count", async () => {
    const model = scriptedModel((_, index) => `call ${index}`, { record: false });
    const request = ask("a");
    Object.defineProperty(request, "toJSON", { value: () => expect.unreachable("nothing may be copied") });
    await model.generate(request);
    expect((await model.generate(request)).message.content).toBe("call 1");
    expect(model.calls).toEqual([]);
  });

  test("a failed call is recorded too", async () => {
    const model = scriptedModel([new ProviderError({ kind: "OVERLOADED", message: "busy" })]);
    await expect(model.generate(ask("a"))).rejects.toThrow("busy");
    expect(model.calls).toHaveLength(1);
  });
});

test("a scripted model is an LLMClient with a name", () => {
  const model = scriptedModel([], { info: { model: "tiny", contextWindow: 100 } });
  expectTypeOf(model).toExtend<LLMClient>();
  expect([model.id, model.info]).toEqual([
    "scripted/tiny",
    { provider: "scripted", model: "tiny", contextWindow: 100 },
  ]);
  expect(scriptedModel([], { id: "mine" }).id).toBe("mine");
  expect(() => scriptedModel([], { chunksize: 1 } as never)).toThrow(/scriptedModel options\.chunksize/);
  expect(() => scriptedModel([], { chunkSize: 0 })).toThrow(/chunkSize is 0/);
});

test.each<[string, object]>([
  ["scriptedModel options.id", { id: 7 }],
  ["scriptedModel options.info", { info: "gpt-5" }],
  ["scriptedModel options.info.contextwindow", { info: { contextwindow: 100 } }],
  ["scriptedModel options.info.model", { info: { model: 5 } }],
  ["scriptedModel options.info.contextWindow", { info: { contextWindow: "big" } }],
  ["scriptedModel options.clock", { clock: Date.now }],
  ["scriptedModel options.record", { record: "no" }],
])("a wrong option of a scripted model is named: %s", (field, options) => {
  expect(() => scriptedModel(["a"], options)).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", field }),
  );
});

test("a mistake in an answer is a type error at that place, and nowhere else in the list", () => {
  const model = () =>
    scriptedModel([
      "text",
      {
        toolCalls: [
          {
            name: "search",
            // @ts-expect-error it is called `arguments`
            args: { query: "x" },
          },
        ],
      },
      // @ts-expect-error no answer
      7,
    ]);
  expectTypeOf(model).returns.toExtend<LLMClient>();
});
