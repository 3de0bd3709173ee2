import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ChatContext,
  type LLMClient,
  type Middleware,
  type ModelEvent,
  type ModelResponse,
  HookEvent,
  isCancellation,
  isRaviError,
  ProviderError,
} from "@ravi/kernel";
import {
  approval,
  cache,
  contentFilter,
  fallback,
  llmJudge,
  MiddlewarePipeline,
  piiRedaction,
  retry,
  timeout,
  wrapModel,
} from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import { answer, fakeModel, overloaded, recordingHooks, PATIENCE, RUNS, user } from "./support.ts";

const request = { messages: [user("hello")] };

interface Streaming extends LLMClient {
  readonly signals: (AbortSignal | undefined)[];
  closed: number;
}

/** Streams each list of deltas in turn; an error in the list is thrown there. */
function streamingModel(id: string, ...scripts: (string | Error | ModelEvent)[][]): Streaming {
  const signals: (AbortSignal | undefined)[] = [];
  const model: Streaming = {
    ...fakeModel(id),
    signals,
    closed: 0,
    async *stream(_request, options) {
      const script = scripts[Math.min(signals.length, scripts.length - 1)] ?? [];
      signals.push(options?.signal);
      let text = "";
      try {
        for (const step of script) {
          await Promise.resolve();
          options?.signal?.throwIfAborted();
          if (step instanceof Error) throw step;
          if (typeof step !== "string") yield step;
          else {
            text += step;
            yield { type: "text", delta: step };
          }
        }
        yield { type: "finish", response: answer(text) };
      } finally {
        model.closed++;
      }
    },
  };
  return model;
}

async function read(
  model: LLMClient,
  signal?: AbortSignal,
): Promise<{ text: string; events: ModelEvent[]; response: ModelResponse | undefined; error: unknown }> {
  const events: ModelEvent[] = [];
  let error: unknown;
  try {
    for await (const event of model.stream?.(request, { signal }) ?? []) events.push(event);
  } catch (reason) {
    error = reason;
  }
  const last = events.at(-1);
  return {
    events,
    error,
    text: events.map((event) => (event.type === "text" ? event.delta : "")).join(""),
    response: last?.type === "finish" ? last.response : undefined,
  };
}

const fail = (): never => {
  throw new Error("the listener is broken");
};

describe("wrapModel: generate", () => {
  it("is an LLMClient with the layers around it", async () => {
    const inner = fakeModel("main", overloaded(), "write to alice@example.com");
    const clock = virtualClock();
    const hooks = recordingHooks();
    const model = wrapModel(inner, [piiRedaction(), retry(), cache()], { clock, hooks });
    expect([model.id, model.info]).toEqual([inner.id, inner.info]);
    const first = model.generate({ messages: [user("I am bob@example.com")] });
    await clock.runAll();
    expect((await first).message.content).toBe("write to [EMAIL]");
    expect(inner.requests.map(({ messages }) => messages[0]?.content)).toEqual([
      "I am [EMAIL]",
      "I am [EMAIL]",
    ]);
    expect((await model.generate({ messages: [user("I am bob@example.com")] })).cached).toBe(true);
    expect(hooks.events).toMatchObject([{ event: HookEvent.RETRY, payload: { agentName: "main" } }]);
  });

  it.each([
    ["throw", () => fail()],
    ["reject", async () => fail()],
  ])("R20: hooks that %s change no call", async (_, dispatch) => {
    const clock = virtualClock();
    const hooks = { has: () => true, dispatch };
    const model = wrapModel(fakeModel("main", overloaded(), "fine"), [retry()], { clock, hooks });
    const said = model.generate({ messages: [user("hello")] });
    await clock.runAll();
    expect((await said).message.content).toBe("fine");
  });

  it("passes the key on, follows the caller's signal, and leaves no listener on it", async () => {
    const seen: unknown[] = [];
    const inner: LLMClient = {
      ...fakeModel("main"),
      generate: async (_request, options) => (seen.push(options?.idempotencyKey), answer("x")),
    };
    const controller = new AbortController();
    const model = wrapModel(inner, [timeout()]);
    await model.generate(request, { signal: controller.signal, idempotencyKey: "key-1" });
    expect(seen).toEqual(["key-1"]);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    controller.abort();
    await expect(model.generate(request, { signal: controller.signal })).rejects.toSatisfy(isCancellation);
    expect(seen).toHaveLength(1);
  });

  it("an admit that sets a result is the answer; one that wants to wait needs somebody to ask", async () => {
    const inner = fakeModel("main");
    const refusing = wrapModel(inner, [
      { level: "chat", admit: (context) => void (context.result = answer("refused")) },
    ]);
    expect((await refusing.generate(request)).message.content).toBe("refused");
    expect(inner.requests).toEqual([]);
    const asking = {
      level: "chat",
      admit: async (
        _context: unknown,
        gate: { require: (name: string, question: null) => Promise<unknown> },
      ) => void (await gate.require("approval:x", null)),
    } as const;
    await expect(wrapModel(inner, [asking]).generate(request)).rejects.toThrow(/approval:x.*answer/);
    await expect(
      wrapModel(inner, [asking], { answer: async () => true }).generate(request),
    ).resolves.toBeDefined();
    const told: string[] = [];
    const telling: Middleware<ChatContext> = {
      level: "chat",
      admit: async (_context, gate) => void (await gate.require("x", null, () => void told.push("x"))),
    };
    await wrapModel(inner, [telling], { answer: async () => true }).generate(request);
    expect(told).toEqual(["x"]);
  });

  it("R11: a transform that is none is refused by what one has to have", async () => {
    const layer = async (context: ChatContext, next: () => Promise<void>): Promise<void> => {
      Reflect.apply(context.addTransform, context, [(event: unknown) => event]);
      await next();
    };
    await expect(wrapModel(fakeModel("main"), [layer]).generate(request)).rejects.toThrow(
      /addTransform is a function; expected .*push.*flush/,
    );
  });

  it("no answer at all is an error, not undefined", async () => {
    await expect(wrapModel(fakeModel("main"), [async () => {}]).generate(request)).rejects.toThrow(
      /there is no answer/,
    );
  });

  it("takes a pipeline, no layers at all, and refuses layers of another level", async () => {
    expect((await wrapModel(fakeModel("a/b"), []).generate(request)).message.content).toBe("ok");
    expect(
      (await wrapModel(fakeModel("main"), new MiddlewarePipeline([retry()])).generate(request)).message
        .content,
    ).toBe("ok");
    // @ts-expect-error a tool's layer
    expect(() => wrapModel(fakeModel("main"), [approval()])).toThrow(/function level/);
    // @ts-expect-error one layer, and no list
    expect(() => wrapModel(fakeModel("main"), retry())).toThrow(/an array of layers/);
    // @ts-expect-error a number
    expect(() => wrapModel(fakeModel("main"), [], { tenantId: 7 })).toThrow(/wrapModel\.tenantId/);
  });
});

describe("wrapModel: stream", () => {
  it("R27: deltas and the final answer are redacted alike, however the text is cut", PATIENCE, async () => {
    const text = "I am alice@example.com, my card is 4111 1111 1111 1111 and I live at 10.0.0.1 :)";
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 12 }),
        async (cuts) => {
          const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
          const inner = streamingModel(
            "main",
            places.slice(1).map((end, at) => text.slice(places[at], end)),
          );
          const { text: out, response, events } = await read(wrapModel(inner, [piiRedaction()]));
          expect(out).toBe("I am [EMAIL], my card is [CARD] and I live at [IP] :)");
          expect(response?.message.content).toBe(out);
          expect(events.filter(({ type }) => type === "finish")).toHaveLength(1);
        },
      ),
      { numRuns: RUNS(50, 2_000) },
    );
  });

  it("streams as it goes: the first word comes before the last is there", async () => {
    const gate = Promise.withResolvers<void>();
    const inner: LLMClient = {
      ...fakeModel("main"),
      async *stream() {
        yield { type: "text", delta: "Hello, " };
        await gate.promise;
        yield { type: "finish", response: answer("Hello, ") };
      },
    };
    const events = wrapModel(inner, [piiRedaction(), retry()]).stream?.(request)[Symbol.asyncIterator]();
    expect(await events?.next()).toEqual({ done: false, value: { type: "text", delta: "Hello, " } });
    gate.resolve();
    expect((await events?.next())?.value?.type).toBe("finish");
    expect(await events?.next()).toEqual({ done: true, value: undefined });
  });

  it("a failure before the first delta is retried; after it, it is final and says why", async () => {
    const clock = virtualClock();
    const early = streamingModel("main", [overloaded()], ["fine"]);
    const reading = read(wrapModel(early, [retry()], { clock }));
    await clock.runAll();
    expect((await reading).text).toBe("fine");

    const late = streamingModel("main", ["half", overloaded()], ["whole"]);
    const spare = streamingModel("spare", ["spare"]);
    const { error, text } = await read(wrapModel(late, [retry(), fallback({ models: [spare] })], { clock }));
    expect(text).toBe("half");
    expect(isRaviError(error, "PROVIDER_ERROR") && [error.kind, error.retryable]).toEqual([
      "OVERLOADED",
      false,
    ]);
    expect(String(error)).toMatch(/part of the answer was streamed/);
    expect([late.signals.length, spare.signals.length]).toEqual([1, 0]);
  });

  it("what a failed attempt had held back does not come out with the next", async () => {
    const clock = virtualClock();
    const inner = streamingModel("main", ["alice@", overloaded()], ["example.com is a host"]);
    const reading = read(wrapModel(inner, [piiRedaction(), retry()], { clock }));
    await clock.runAll();
    expect((await reading).text).toBe("example.com is a host");
  });

  it("T13: an attempt that was given up, and breaks off late, takes nothing from what the next one holds back", async () => {
    const clock = virtualClock();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const key = "sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF1234567890abcd";
    let attempts = 0;
    const deaf: LLMClient = {
      ...fakeModel("deaf"),
      async *stream() {
        if (++attempts === 1) {
          await first.promise;
          throw overloaded();
        }
        yield { type: "text", delta: `the key: ${key.slice(0, 30)}` };
        first.resolve();
        await second.promise;
        yield { type: "text", delta: `${key.slice(30)} it is` };
        yield { type: "finish", response: answer(`the key: ${key} it is`) };
      },
    };
    const layers = [retry({ baseMs: 0 }), timeout({ timeoutMs: 10 }), piiRedaction()];
    const reading = (async () => {
      let text = "";
      for await (const event of wrapModel(deaf, layers, { clock }).stream?.(request) ?? [])
        if (event.type === "text") text += event.delta;
      return text;
    })();
    await clock.advance(10);
    await clock.advance(1);
    second.resolve();
    expect(await reading).toBe("the key: [SECRET] it is");
    expect(attempts).toBe(2);
  });

  it("T13: what an attempt held back that was given up is not part of what the next one says", async () => {
    const clock = virtualClock();
    let attempts = 0;
    const deaf: LLMClient = {
      ...fakeModel("deaf"),
      async *stream() {
        if (++attempts === 1) {
          yield { type: "text", delta: "sk-" };
          await new Promise(() => {});
        }
        yield { type: "text", delta: "no key" };
        yield { type: "finish", response: answer("no key") };
      },
    };
    const layers = [piiRedaction(), retry({ baseMs: 0 }), timeout({ timeoutMs: 10 })];
    const reading = (async () => {
      let text = "";
      for await (const event of wrapModel(deaf, layers, { clock }).stream?.(request) ?? [])
        if (event.type === "text") text += event.delta;
      return text;
    })();
    await clock.advance(10);
    await clock.advance(1);
    expect(await reading).toBe("no key");
    expect(attempts).toBe(2);
  });

  it("a time limit in the middle of a stream is final too, and its model is stopped", async () => {
    const clock = virtualClock();
    const inner = {
      ...fakeModel("main"),
      calls: 0,
      async *stream() {
        inner.calls++;
        yield { type: "text", delta: "half " } as const;
        await new Promise(() => {});
      },
    };
    const reading = read(
      wrapModel(inner, [retry({ random: () => 0 }), timeout({ timeoutMs: 100 })], { clock }),
    );
    await clock.runAll();
    const { error, text } = await reading;
    expect(text).toBe("half ");
    expect(isRaviError(error, "PROVIDER_ERROR") && error.retryable).toBe(false);
    expect(String(error)).toMatch(/took longer than 100 ms; part of the answer was streamed/);
    expect(inner.calls).toBe(1);
    expect(clock.pending).toBe(0);
  });

  it("a stream that ends without finish is a failure", async () => {
    const inner: LLMClient = {
      ...fakeModel("main"),
      async *stream() {
        yield { type: "text", delta: "x" };
      },
    };
    expect(String((await read(wrapModel(inner, []))).error)).toMatch(/incomplete/);
  });

  it("an answer that was not streamed comes as deltas all the same: from a cache, after a verdict, or of a model that cannot stream", async () => {
    const judge = fakeModel("judge", '{"allow": true, "reason": ""}');
    const cached = wrapModel(streamingModel("main", ["a", "b"]), [cache()]);
    expect((await read(cached)).events.map(({ type }) => type)).toEqual(["text", "text", "finish"]);
    expect((await read(cached)).events.map(({ type }) => type)).toEqual(["text", "finish"]);
    const judged = await read(
      wrapModel(streamingModel("main", ["a", "b"]), [llmJudge({ model: judge, criteria: "x" })]),
    );
    expect(judged.events).toMatchObject([{ type: "text", delta: "ab" }, { type: "finish" }]);
    const call = { id: "c", name: "t", arguments: "{}" };
    const plain = fakeModel(
      "main",
      answer("", {
        finishReason: "toolCalls",
        message: { role: "assistant", content: "", toolCalls: [call] },
      }),
    );
    expect((await read(wrapModel(plain, []))).events).toMatchObject([
      { type: "toolCall", index: 0, id: "c", name: "t", delta: "{}" },
      { type: "finish" },
    ]);
  });

  it("a guard that trips in the middle ends the stream with its error, and the word is not out", async () => {
    const { text, error } = await read(
      wrapModel(streamingModel("main", ["this is top sec", "ret stuff"]), [
        contentFilter({ blocked: ["top secret"] }),
      ]),
    );
    expect(text).toBe("this is ");
    expect(isRaviError(error, "MIDDLEWARE_TERMINATION")).toBe(true);
  });

  it("inner layers see deltas first, as they see the answer first", async () => {
    const inner = streamingModel("main", ["alice@example.com"]);
    const blocksMail = contentFilter({ blocked: ["EMAIL"], sides: "output" });
    expect((await read(wrapModel(inner, [piiRedaction(), blocksMail]))).error).toBeUndefined();
    expect(
      isRaviError(
        (await read(wrapModel(inner, [blocksMail, piiRedaction()]))).error,
        "MIDDLEWARE_TERMINATION",
      ),
    ).toBe(true);
  });

  it("a reader that stops early stops the model, and nothing is left behind", async () => {
    const inner = streamingModel(
      "main",
      Array.from({ length: 1_000 }, (_, at) => `${at} `),
    );
    const controller = new AbortController();
    let seen = 0;
    for await (const event of wrapModel(inner, [timeout()]).stream?.(request, {
      signal: controller.signal,
    }) ?? []) {
      if (event.type === "text" && ++seen === 3) break;
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(inner.signals[0]?.aborted).toBe(true);
    expect(inner.closed).toBe(1);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  it("a slow reader slows the model down instead of filling the memory", async () => {
    let made = 0;
    const inner: LLMClient = {
      ...fakeModel("main"),
      async *stream() {
        for (; made < 10_000; made++) yield { type: "text", delta: "x " };
        yield { type: "finish", response: answer("x") };
      },
    };
    const events = wrapModel(inner, [piiRedaction()]).stream?.(request)[Symbol.asyncIterator]();
    await events?.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(made).toBeLessThan(100);
    await events?.return?.();
  });

  it("reads that do not wait for each other get different events, and after an error comes the end", async () => {
    const model = wrapModel(streamingModel("main", ["a", "b", overloaded()]), []);
    const events = model.stream?.(request)[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => events?.next();
    const reads = await Promise.allSettled([next(), next(), next(), next()]);
    expect(reads).toMatchObject([
      { value: { value: { delta: "a" } } },
      { value: { value: { delta: "b" } } },
      { status: "rejected" },
      { value: { done: true } },
    ]);
  });

  it("an abort while reading is a cancellation", async () => {
    const controller = new AbortController();
    const inner = streamingModel("main", ["a", "b", "c"]);
    const reading = read(wrapModel(inner, []), controller.signal);
    controller.abort(new ProviderError({ kind: "UNKNOWN", message: "the user left" }));
    expect(String((await reading).error)).toMatch(/the user left/);
  });
});

describe("T11: what is no answer, through wrapModel", () => {
  const odd = (given: unknown): LLMClient => ({
    ...fakeModel("odd"),
    generate: async () => given as ModelResponse,
  });
  const oddStream = (stream: () => unknown): LLMClient => ({
    ...fakeModel("odd"),
    stream: () => stream() as AsyncIterable<ModelEvent>,
  });
  async function* yielding(...events: readonly unknown[]): AsyncGenerator {
    yield* events;
  }
  const readAll = async (model: LLMClient): Promise<ModelEvent[]> => {
    const events: ModelEvent[] = [];
    for await (const event of model.stream?.(request) ?? []) events.push(event);
    return events;
  };
  const provider = { code: "PROVIDER_ERROR", kind: "FORMAT_ERROR" };

  it("T11: of a call is the provider's error", async () => {
    const model = wrapModel(odd({ message: null }), []);
    await expect(model.generate(request)).rejects.toMatchObject({
      ...provider,
      message: expect.stringContaining("message is null"),
    });
  });

  it.each<readonly [string, () => unknown]>([
    ["is no stream", () => undefined],
    ["gives what is no event", () => yielding(null)],
    ["ends with no answer", () => yielding({ type: "finish", response: { message: null } })],
  ])("T11: of a stream that %s is the provider's error", async (_, stream) => {
    await expect(readAll(wrapModel(oddStream(stream), []))).rejects.toMatchObject(provider);
  });

  it("T11: that a layer has set is its error", async () => {
    const model = wrapModel(fakeModel("m"), [async (context) => void Object.assign(context, { result: {} })]);
    await expect(model.generate(request)).rejects.toMatchObject({
      code: "MIDDLEWARE_ERROR",
      message: expect.stringContaining("a layer set a response whose message is undefined"),
    });
  });

  it("T11: is not asked for again, as it would be paid again; another model is, where that is wanted", async () => {
    let asks = 0;
    const bad: LLMClient = {
      ...fakeModel("bad"),
      generate: () => {
        asks++;
        return odd({ message: null }).generate(request);
      },
    };
    await expect(wrapModel(bad, [retry()]).generate(request)).rejects.toMatchObject({
      ...provider,
      retryable: false,
    });
    expect(asks).toBe(1);
    const other = wrapModel(bad, [fallback({ models: [fakeModel("other", "fine")], on: ["FORMAT_ERROR"] })]);
    expect((await other.generate(request)).message.content).toBe("fine");
    expect(asks).toBe(2);
  });
});
