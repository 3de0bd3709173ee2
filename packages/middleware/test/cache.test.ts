import { describe, expect, it } from "vitest";
import {
  type ChatContext,
  type FunctionContext,
  type ModelRequest,
  type ModelResponse,
  CancellationToken,
  isCancellation,
  NO_USAGE,
} from "@ravi/kernel";
import { cache, MiddlewarePipeline, toolCache } from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import { answer, chatContext, coreOf, fakeModel, functionContext, overloaded, user } from "./support.ts";
import { keyOf } from "../src/common/canonical.ts";

interface Ask {
  readonly tenantId?: string;
  readonly model?: ReturnType<typeof fakeModel>;
  readonly request?: Partial<ModelRequest>;
}

function setup(options: Parameters<typeof cache>[0] = {}, ...script: Parameters<typeof fakeModel>[1][]) {
  const clock = virtualClock();
  const model = fakeModel("main", ...script);
  const pipeline = new MiddlewarePipeline<ChatContext>([cache(options)]);
  const ask = async (about: Ask = {}): Promise<ModelResponse> => {
    const context = chatContext({ clock, model, ...about });
    await pipeline.run(context, coreOf(context));
    if (context.result === undefined) throw new Error("no result");
    return context.result;
  };
  return { clock, model, ask, pipeline };
}

describe("R27: cache", () => {
  it("R27: the second equal call pays nothing, and says so", async () => {
    const { ask, model } = setup({}, "hello");
    const first = await ask();
    const second = await ask();
    expect(model.requests).toHaveLength(1);
    expect(first.cached).toBe(undefined);
    expect(second.cached).toBe(true);
    expect(second.message).toEqual(first.message);
    expect(first.usage).toEqual({ inputTokens: 10, outputTokens: 5 });
    expect(second.usage).toBe(NO_USAGE);
  });

  const others: readonly (readonly [string, Ask])[] = [
    ["tenant", { tenantId: "acme" }],
    ["model", { model: fakeModel("other") }],
    ["provider", { model: { ...fakeModel("main"), info: { provider: "other", model: "main" } } }],
    ["endpoint", { model: { ...fakeModel("main"), id: "main, in Europe" } }],
    ["temperature", { request: { temperature: 0.5 } }],
    ["limit of the answer", { request: { maxOutputTokens: 5 } }],
    ["seed", { request: { seed: 1 } }],
    ["stop words", { request: { stop: ["x"] } }],
    ["list of tools", { request: { tools: [{ name: "a", description: "", parameters: {} }] } }],
    ["choice of tools", { request: { toolChoice: "none" } }],
    ["form of the answer", { request: { output: { name: "x", schema: {} } } }],
    ["provider's settings", { request: { providerOptions: { fake: { a: 1 } } } }],
    ["text", { request: { messages: [user("hullo")] } }],
    ["number of messages", { request: { messages: [user("hello"), user("")] } }],
  ];
  it.each(others)("R27: another %s is another question", async (_what, about) => {
    const { ask } = setup();
    await ask();
    expect((await ask(about)).cached).toBe(undefined);
  });

  it("R27: the order of fields is the same question, and undefined is the same as absent", async () => {
    const { ask } = setup();
    await ask({ request: { temperature: 1, seed: 2 } });
    expect((await ask({ request: { seed: 2, topP: undefined, temperature: 1 } })).cached).toBe(true);
  });

  it("R27: keys cannot be made to collide, and what is not plain JSON has none", () => {
    const values = [
      { a: "b,c" },
      { a: "b", c: "" },
      ["a", "b"],
      ["a,b"],
      ["a", ["b"]],
      "1",
      1,
      true,
      null,
      "null",
      { "a:b": 1 },
      { a: { b: 1 } },
      [],
      {},
      [[]],
      "",
      "[]",
    ];
    expect(new Set(values.map(keyOf)).size).toBe(values.length);
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    for (const bad of [
      new Date(0),
      new Map(),
      () => 1,
      Number.NaN,
      Infinity,
      -0,
      1n,
      Symbol("x"),
      [undefined],
      cyclic,
    ]) {
      expect(keyOf(bad)).toBeUndefined();
    }
  });

  it.each(["length", "refused", "filtered", "other"] as const)(
    "R27: an answer that ended with %s is not kept",
    async (finishReason) => {
      const { ask, model } = setup({}, answer("x", { finishReason }));
      await ask();
      await ask();
      expect(model.requests).toHaveLength(2);
    },
  );

  it("R27: an answer that calls tools is kept too", async () => {
    const { ask, model } = setup({}, answer("x", { finishReason: "toolCalls" }));
    await ask();
    expect((await ask()).finishReason).toBe("toolCalls");
    expect(model.requests).toHaveLength(1);
  });

  it("R27: a failure is not kept", async () => {
    const { ask } = setup({}, overloaded(), "fine");
    await expect(ask()).rejects.toThrow("overloaded");
    expect((await ask()).message.content).toBe("fine");
  });

  it("R27: answers expire by the run's clock, and the least used goes first", async () => {
    const { ask, clock } = setup({ ttlMs: 1_000, maxEntries: 2 });
    await ask();
    await clock.advance(999);
    expect((await ask()).cached).toBe(true);
    await clock.advance(1);
    expect((await ask()).cached).toBe(undefined);

    for (const text of ["a", "b"]) await ask({ request: { messages: [user(text)] } });
    expect((await ask()).cached).toBe(undefined);
  });

  it("R27: what is kept cannot be changed from outside", async () => {
    const response = { ...answer("good"), message: { role: "assistant" as const, content: "good" } };
    const { ask } = setup({}, response);
    await ask();
    response.message.content = "bad";
    const second = await ask();
    expect(second.message.content).toBe("good");
    expect(Object.isFrozen(second.message)).toBe(true);
  });

  it("R27: equal calls at once each ask by default, and share one call when told to", async () => {
    const apart = setup();
    await Promise.all([apart.ask(), apart.ask(), apart.ask()]);
    expect(apart.model.requests).toHaveLength(3);

    const together = setup({ shareInFlight: true });
    const responses = await Promise.all([together.ask(), together.ask(), together.ask()]);
    expect(together.model.requests).toHaveLength(1);
    expect(responses.map(({ cached }) => cached === true)).toEqual([false, true, true]);
  });

  it("R27: when the shared call fails, the next in line asks for itself", async () => {
    const { ask, model } = setup({ shareInFlight: true }, overloaded(), "second try");
    const [first, ...rest] = await Promise.allSettled([ask(), ask(), ask()]);
    expect(first.status).toBe("rejected");
    expect(rest.map((outcome) => outcome.status === "fulfilled" && outcome.value.message.content)).toEqual([
      "second try",
      "second try",
    ]);
    expect(model.requests).toHaveLength(2);
  });

  it("R27: who waits for another's call can be cancelled by itself", async () => {
    const { pipeline } = setup({ shareInFlight: true });
    const leader = chatContext();
    const token = new CancellationToken();
    const follower = chatContext({ token });
    const release = Promise.withResolvers<void>();
    const leading = pipeline.run(leader, async () => {
      await release.promise;
      leader.result = answer("slow");
    });
    const following = pipeline.run(follower, coreOf(follower)).catch((error: unknown) => error);
    token.cancel("enough");
    expect(isCancellation(await following)).toBe(true);
    release.resolve();
    await leading;
    expect(leader.result?.message.content).toBe("slow");
  });
});

it("R27: when a shared call that was given up ends at last, those behind it still share the next one", async () => {
  const pipeline = new MiddlewarePipeline<ChatContext>([cache({ shareInFlight: true })]);
  const token = new CancellationToken();
  const [slow, next] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let asked = 0;
  const ask = (context: ChatContext, until: Promise<void>): Promise<unknown> =>
    pipeline
      .run(context, async () => {
        asked++;
        await until;
        context.result = answer("it");
      })
      .catch((error: unknown) => error);
  const givenUp = ask(chatContext({ token }), slow.promise);
  token.cancel("enough");
  const second = ask(chatContext(), next.promise);
  slow.reject(new Error("too late"));
  await givenUp;
  const third = ask(chatContext(), next.promise);
  next.resolve();
  await Promise.all([second, third]);
  expect(asked).toBe(2);
});

it("R27: nobody waits for a shared call that was given up, whatever its model does; what that gives in the end is no one's", async () => {
  const pipeline = new MiddlewarePipeline<ChatContext>([cache({ shareInFlight: true })]);
  const token = new CancellationToken();
  const release = Promise.withResolvers<void>();
  const leader = chatContext({ token });
  const leading = pipeline.run(leader, async () => {
    await release.promise;
    throw overloaded();
  });
  const [second, third, fourth] = [chatContext(), chatContext(), chatContext()];
  const waiting = pipeline.run(second, coreOf(second));
  token.cancel("too slow");
  await waiting;
  expect(second.result?.message.content).toBe("ok");

  // Its late end takes no newer call off the list.
  const slow = Promise.withResolvers<void>();
  const other = { messages: [user("another question")] };
  third.request = other;
  fourth.request = other;
  const asking = pipeline.run(third, async () => {
    await slow.promise;
    third.result = answer("shared");
  });
  release.resolve();
  await expect(leading).rejects.toThrow("overloaded");
  const sharing = pipeline.run(fourth, coreOf(fourth));
  slow.resolve();
  await Promise.all([asking, sharing]);
  expect(fourth.result).toMatchObject({ cached: true, message: { content: "shared" } });
});

describe("R27: toolCache", () => {
  function setupTool(options: Partial<Parameters<typeof toolCache>[0]> = {}) {
    let calls = 0;
    const clock = virtualClock();
    const pipeline = new MiddlewarePipeline<FunctionContext>([toolCache({ tools: ["search"], ...options })]);
    const call = async (about: Parameters<typeof functionContext>[0] = {}, isError = false) => {
      const context = functionContext({ clock, args: { q: "x" }, ...about });
      await pipeline.run(context, async () => {
        context.result = { content: `result ${++calls}`, isError };
      });
      return context.result?.content;
    };
    return { call, clock };
  }

  it("R27: gives a named tool's result again, for the same tenant, user and arguments, until it expires", async () => {
    const { call, clock } = setupTool({ ttlMs: 100 });
    expect(await call()).toBe("result 1");
    expect(await call()).toBe("result 1");
    expect(await call({ tenantId: "acme" })).toBe("result 2");
    expect(await call({ args: { q: "y" } })).toBe("result 3");
    await clock.advance(100);
    expect(await call()).toBe("result 4");
    const hers = await call({ userId: "alice" });
    expect(await call({ userId: "alice" })).toBe(hers);
    expect(await call({ userId: "bob" })).not.toBe(hers);
  });

  it("R27: keeps as many results as it is told to, and forgets the least used first", async () => {
    const { call } = setupTool({ maxEntries: 2 });
    const [one, two, three] = ["1", "2", "3"].map((q) => ({ args: { q } }));
    for (const about of [one, two, one, three]) await call(about);
    expect([await call(one), await call(three)]).toEqual(["result 1", "result 3"]);
    expect(await call(two)).toBe("result 4");
  });

  it("R27: keeps nothing of other tools, of errors, or under arguments that are not plain JSON", async () => {
    const { call } = setupTool();
    for (const [about, isError] of [
      [{ name: "delete_all" }, false],
      [{}, true],
      [{ args: { at: new Date(0) } }, false],
    ] as const) {
      expect(await call(about, isError)).not.toBe(await call(about, isError));
    }
    // @ts-expect-error there is no default: only the user knows which tools merely look things up
    expect(() => toolCache({})).toThrow(/toolCache\.tools/);
  });
});
