import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import {
  type ChatContext,
  BudgetExhaustedError,
  CancellationError,
  CancellationToken,
  HookEvent,
  InvalidValueError,
  isCancellation,
  isRaviError,
  MiddlewareError,
  MiddlewareTermination,
  PausedError,
  ProviderError,
  SuspendedError,
} from "@ravi/kernel";
import { fallback, MiddlewarePipeline, retry, timeout } from "@ravi/middleware";
import { virtualClock } from "@ravi/testing";
import { answer, chatContext, coreOf, fakeModel, overloaded, recordingHooks } from "./support.ts";

/** Runs a pipeline to its end, moving the clock on as long as something waits. */
async function finish(run: Promise<void>, clock: { runAll(): Promise<void> }): Promise<unknown> {
  let error: unknown;
  const ended = run.catch((reason: unknown) => void (error = reason));
  await clock.runAll();
  await ended;
  return error;
}

function setup(options: {
  script: (Error | string)[];
  layers: ConstructorParameters<typeof MiddlewarePipeline<ChatContext>>[0];
}) {
  const clock = virtualClock();
  const hooks = recordingHooks();
  const model = fakeModel("main", ...options.script);
  const token = new CancellationToken();
  const context = chatContext({ clock, hooks, model, token });
  const pipeline = new MiddlewarePipeline<ChatContext>(options.layers);
  return { clock, hooks, model, token, context, run: () => pipeline.run(context, coreOf(context)) };
}

describe("R27: retry", () => {
  it("R27: tries three times more, waiting at most 1, 2 and 4 seconds (full jitter), and throws the last error", async () => {
    const errors = [1, 2, 3, 4].map(
      (n) => new ProviderError({ kind: "SERVER_ERROR", message: `failure ${n}` }),
    );
    const { clock, hooks, model, run } = setup({ script: errors, layers: [retry({ random: () => 0.5 })] });
    expect(await finish(run(), clock)).toBe(errors[3]);
    expect(model.requests).toHaveLength(4);
    expect(
      hooks.events.map(({ event, payload }) => [
        event,
        Reflect.get(payload, "attempt"),
        Reflect.get(payload, "delayMs"),
      ]),
    ).toEqual([
      [HookEvent.RETRY, 1, 500],
      [HookEvent.RETRY, 2, 1_000],
      [HookEvent.RETRY, 3, 2_000],
    ]);
    expect(clock.now()).toBe(3_500);
    expect(clock.pending).toBe(0);
  });

  it("R27: no wait that it chooses is longer than 30 seconds", async () => {
    const { clock, hooks, run } = setup({
      script: [overloaded()],
      layers: [retry({ maxRetries: 8, random: () => 0.999_999 })],
    });
    await finish(run(), clock);
    const waits = hooks.events.map(({ payload }) => Number(Reflect.get(payload, "delayMs")));
    expect(waits.slice(0, 5)).toEqual([999, 1_999, 3_999, 7_999, 15_999]);
    expect(waits.slice(5)).toEqual([29_999, 29_999, 29_999]);
    const own = setup({ script: [overloaded()], layers: [retry({ capMs: 1_500, random: () => 0.5 })] });
    await finish(own.run(), own.clock);
    expect(own.clock.now()).toBe(500 + 750 + 750);
  });

  it("R27: with a base of 0 there is no wait, however many failures there were", async () => {
    const { clock, hooks, run } = setup({
      script: [overloaded()],
      layers: [retry({ maxRetries: 1_100, baseMs: 0 })],
    });
    await finish(run(), clock);
    const waits = new Set(hooks.events.map(({ payload }) => Reflect.get(payload, "delayMs")));
    expect([...waits]).toEqual([0]);
  });

  it("R27: Retry-After is the floor, and one that is too long is not waited for", async () => {
    const patient = setup({ script: [overloaded(7_000), "ok"], layers: [retry({ random: () => 0 })] });
    expect(await finish(patient.run(), patient.clock)).toBeUndefined();
    expect(patient.clock.now()).toBe(7_000);

    const just = setup({ script: [overloaded(300_000), "ok"], layers: [retry()] });
    expect(await finish(just.run(), just.clock)).toBeUndefined();
    expect(just.clock.now()).toBe(300_000);

    const hopeless = setup({ script: [overloaded(3_600_000), "ok"], layers: [retry()] });
    expect(isRaviError(await finish(hopeless.run(), hopeless.clock), "PROVIDER_ERROR")).toBe(true);
    expect(hopeless.clock.now()).toBe(0);

    for (const [maxRetryAfterMs, until] of [
      [7_000, 7_000],
      [6_999, 0],
    ]) {
      const own = setup({ script: [overloaded(7_000), "ok"], layers: [retry({ maxRetryAfterMs })] });
      await finish(own.run(), own.clock);
      expect(own.clock.now()).toBe(until);
    }
  });

  it.each([
    ["a termination", new MiddlewareTermination({ layer: "guard", reason: "no" })],
    ["a cancellation", new CancellationError({ reason: "stop" })],
    ["a budget stop", new BudgetExhaustedError({ dimension: "cost", used: 5, limit: 5, scope: "lead" })],
    ["a pause", new PausedError({ agentId: "lead" })],
    ["a suspension", new SuspendedError({ reason: "closed" })],
    [
      "a suspension that a client wrapped",
      new Error("the client failed", { cause: new SuspendedError({ reason: "closed" }) }),
    ],
    ["a broken layer", new MiddlewareError({ layer: "x", problem: "broken" })],
    ["a bad value", new InvalidValueError({ field: "x", value: 1, expected: "2" })],
    ["a wrong key", new ProviderError({ kind: "AUTH", message: "401" })],
    ["an unpaid bill", new ProviderError({ kind: "BILLING", message: "402" })],
    ["a prompt that is too long", new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long" })],
    ["a mistake in a program", new TypeError("x is not a function")],
  ])("R27: never repeats %s", async (_what, error) => {
    const { clock, model, hooks, run } = setup({ script: [error, "ok"], layers: [retry()] });
    expect(await finish(run(), clock)).toBe(error);
    expect(model.requests).toHaveLength(1);
    expect(hooks.events).toEqual([]);
  });

  it("R27: a call that fails after it was cancelled is not said to be tried again, and its own error is thrown", async () => {
    const { clock, hooks, token, context } = setup({ script: [], layers: [] });
    const failure = overloaded();
    const run = new MiddlewarePipeline<ChatContext>([retry()]).run(context, async () => {
      token.cancel("enough");
      throw failure;
    });
    expect(await finish(run, clock)).toBe(failure);
    expect([hooks.events, clock.pending]).toEqual([[], 0]);
  });

  it("R27: a wait is cancelled at once, and leaves neither timer nor listener behind", async () => {
    const { clock, model, token, run } = setup({
      script: [overloaded(), "ok"],
      layers: [retry({ random: () => 0.5 })],
    });
    const ended = run().catch((error: unknown) => error);
    await clock.advance(100);
    expect(clock.pending).toBe(1);
    token.cancel("enough");
    expect(isCancellation(await ended)).toBe(true);
    expect(model.requests).toHaveLength(1);
    expect(clock.pending).toBe(0);
    expect(getEventListeners(token.signal, "abort")).toEqual([]);
  });

  it("R27: does not wait past the deadline", async () => {
    const clock = virtualClock();
    const model = fakeModel("main", overloaded(5_000), "ok");
    const context = chatContext({ clock, model, deadline: 4_000 });
    const error = await finish(
      new MiddlewarePipeline<ChatContext>([retry()]).run(context, coreOf(context)),
      clock,
    );
    expect(isRaviError(error, "PROVIDER_ERROR")).toBe(true);
    expect(clock.now()).toBe(0);
  });

  it("R27: waits as long as the deadline allows, to the last millisecond", async () => {
    const clock = virtualClock();
    const model = fakeModel("main", overloaded(4_000), "ok");
    const context = chatContext({ clock, model, deadline: 4_000 });
    const run = new MiddlewarePipeline<ChatContext>([retry()]).run(context, coreOf(context));
    expect(await finish(run, clock)).toBeUndefined();
    expect(context.result?.message.content).toBe("ok");
  });

  it("R27: waits by real timers where the clock has none", async () => {
    const model = fakeModel("main", overloaded(), "ok");
    const context = chatContext({ model });
    await new MiddlewarePipeline<ChatContext>([retry({ baseMs: 1 })]).run(context, coreOf(context));
    expect(context.result?.message.content).toBe("ok");
  });

  it("R27: misspelt and impossible options are refused", () => {
    // @ts-expect-error no such option
    expect(() => retry({ retries: 3 })).toThrow(/retry\.retries/);
    expect(() => retry({ maxRetries: -1 })).toThrow(/retry\.maxRetries/);
    expect(() => retry({ baseMs: Number.NaN })).toThrow(/retry\.baseMs/);
  });
});

describe("R27: fallback", () => {
  it("R27: goes through the models in order, says who answered, and gives the agent its own model back", async () => {
    const steps: string[] = [];
    const [second, third] = [fakeModel("second", overloaded()), fakeModel("third", "from the third")];
    const layer = fallback({
      models: [second, third],
      onFallback: ({ from, to }) => void steps.push(`${from} → ${to}`),
    });
    const { clock, context, hooks, model, run } = setup({
      script: [new ProviderError({ kind: "MODEL_NOT_FOUND", message: "404" })],
      layers: [layer],
    });
    expect(await finish(run(), clock)).toBeUndefined();
    expect(hooks.events.map(({ event, payload }) => [event, Reflect.get(payload, "attempt")])).toEqual([
      [HookEvent.RETRY, 1],
      [HookEvent.RETRY, 2],
    ]);
    expect(context.result?.message.content).toBe("from the third");
    expect(context.result?.model).toBe("third");
    expect(context.model).toBe(model);
    expect(steps).toEqual(["main → second", "second → third"]);
  });

  it("R27: an answer that says which model has made it keeps that name", async () => {
    const spare = fakeModel("spare", answer("fine", { model: "spare-2026-11" }));
    const layers = [fallback({ models: [spare] })];
    const { clock, context, run } = setup({ script: [overloaded()], layers });
    expect(await finish(run(), clock)).toBeUndefined();
    expect(context.result?.model).toBe("spare-2026-11");
  });

  it("R27: an onFallback that fails keeps nobody from the next model", async () => {
    const broken: readonly (() => unknown)[] = [
      () => {
        throw new Error("no metrics");
      },
      () => Promise.reject(new Error("no metrics")),
    ];
    for (const onFallback of broken) {
      const layer = fallback({ models: [fakeModel("second", "from the second")], onFallback });
      const { clock, context, run } = setup({ script: [overloaded()], layers: [layer] });
      expect(await finish(run(), clock)).toBeUndefined();
      expect(context.result?.message.content).toBe("from the second");
    }
  });

  it("R27: what is no model is refused when the layer is made, and not in the middle of an outage", () => {
    const models: unknown = [fakeModel("second"), undefined];
    expect(() => Reflect.apply(fallback, undefined, [{ models }])).toThrow(/fallback\.models\[1\]/);
  });

  it("R27: throws the last failure when all fail, and stops at one that is final", async () => {
    const last = new ProviderError({ kind: "AUTH", message: "no key for the second" });
    const never = fakeModel("never");
    const { clock, run } = setup({
      script: [overloaded()],
      layers: [fallback({ models: [fakeModel("second", last), never] })],
    });
    expect(await finish(run(), clock)).toBe(last);
    expect(never.requests).toEqual([]);
  });

  it.each([
    ["a termination", new MiddlewareTermination({ layer: "guard", reason: "no" })],
    ["a budget stop", new BudgetExhaustedError({ dimension: "cost", used: 5, limit: 5, scope: "lead" })],
    ["a cancellation", new CancellationError({ reason: "stop" })],
    ["a suspension", new SuspendedError({ reason: "closed" })],
    ["a blocked prompt", new ProviderError({ kind: "CONTENT_BLOCKED", message: "blocked" })],
    ["a prompt that is too long", new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "too long" })],
    [
      "a failure after part of the answer was streamed",
      new ProviderError({ kind: "SERVER_ERROR", message: "reset", retryable: false }),
    ],
    ["a mistake in a program", new TypeError("x is not a function")],
  ])("R27: no other model is asked after %s", async (_what, error) => {
    const spare = fakeModel("spare");
    const { clock, run } = setup({ script: [error], layers: [fallback({ models: [spare] })] });
    expect(await finish(run(), clock)).toBe(error);
    expect(spare.requests).toEqual([]);
  });

  it.each(["RATE_LIMIT", "OVERLOADED", "SERVER_ERROR", "TIMEOUT", "MODEL_NOT_FOUND", "UNKNOWN"] as const)(
    "R27: the next model is asked after %s, and onFallback is told why",
    async (kind) => {
      const failures: unknown[] = [];
      const error = new ProviderError({ kind, message: "no answer" });
      const spare = fakeModel("spare", "from the spare");
      const layer = fallback({ models: [spare], onFallback: (step) => void failures.push(step.error) });
      const { clock, context, run } = setup({ script: [error], layers: [layer] });
      expect(await finish(run(), clock)).toBeUndefined();
      expect(context.result?.message.content).toBe("from the spare");
      expect(failures).toEqual([error]);
    },
  );

  it("R27: no other model is asked for a run that was cancelled meanwhile", async () => {
    const { clock, context, token } = setup({ script: [], layers: [] });
    const layers = [fallback({ models: [fakeModel("spare")] })];
    const error = overloaded();
    const asked: string[] = [];
    const running = new MiddlewarePipeline<ChatContext>(layers).run(context, async () => {
      asked.push(context.model.id);
      token.cancel("stop");
      throw error;
    });
    expect(await finish(running, clock)).toBe(error);
    expect(asked).toEqual(["main"]);
  });

  it("R27: which failures lead on can be set", async () => {
    const spare = fakeModel("spare", "ok");
    const { clock, run } = setup({
      script: [new ProviderError({ kind: "AUTH", message: "401" })],
      layers: [fallback({ models: [spare], on: ["AUTH"] })],
    });
    expect(await finish(run(), clock)).toBeUndefined();
    // @ts-expect-error no such kind
    expect(() => fallback({ models: [spare], on: ["TIRED"] })).toThrow(/fallback\.on/);
    expect(() => fallback({ models: [] })).toThrow(/at least one model/);
  });
});

it("R27: after a limit for all attempts around one for each, whoever stands outside may still go on", async () => {
  const clock = virtualClock();
  const main = fakeModel("main");
  const context = chatContext({ clock, model: main });
  const own = context.signal;
  const core = (): Promise<void> => (context.model === main ? new Promise(() => {}) : coreOf(context)());
  const layers = [
    fallback({ models: [fakeModel("spare", "from the spare")] }),
    timeout({ timeoutMs: 100 }),
    retry({ baseMs: 0 }),
    timeout({ timeoutMs: 60 }),
  ];
  const running = new MiddlewarePipeline<ChatContext>(layers).run(context, core);
  await clock.runAll();
  await running;
  expect(context.result?.message.content).toBe("from the spare");
  expect(context.signal).toBe(own);
});

describe("R27: timeout", () => {
  function hanging(options: { listens: boolean; late?: Error }) {
    const clock = virtualClock();
    const token = new CancellationToken();
    const context = chatContext({ clock, token });
    const aborted = Promise.withResolvers<unknown>();
    const settle = Promise.withResolvers<void>();
    const core = async (): Promise<void> => {
      const { signal } = context;
      signal.addEventListener("abort", () => aborted.resolve(signal.reason), { once: true });
      await (options.listens
        ? aborted.promise.then((reason) => Promise.reject(reason as Error))
        : settle.promise);
    };
    return { clock, token, context, core, aborted: aborted.promise, settle };
  }

  it.each([true, false])(
    "R27: gives up in time whether the call listens to its signal (%s) or not, and cancels it",
    async (listens) => {
      const { clock, token, context, core, aborted } = hanging({ listens });
      const error = await finish(
        new MiddlewarePipeline<ChatContext>([timeout({ timeoutMs: 2_000 })]).run(context, core),
        clock,
      );
      expect(isRaviError(error, "PROVIDER_ERROR") && [error.kind, error.retryable]).toEqual([
        "TIMEOUT",
        true,
      ]);
      expect(clock.now()).toBe(2_000);
      expect(isCancellation(await aborted)).toBe(true);
      expect(clock.pending).toBe(0);
      expect(getEventListeners(token.signal, "abort")).toEqual([]);
      expect(context.signal).toBe(token.signal);
    },
  );

  it.each([
    ["hears of it", () => {}],
    [
      "throws",
      () => {
        throw new Error("a broken onLate");
      },
    ],
    ["rejects", () => Promise.reject(new Error("a broken onLate"))],
  ])("R27: a call that fails late leaves no unhandled rejection, whoever %s", async (_, then) => {
    const { clock, context, core, settle } = hanging({ listens: false });
    const late: unknown[] = [];
    const onLate = (error: unknown): unknown => {
      late.push(error);
      return then();
    };
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", listener);
    try {
      await finish(
        new MiddlewarePipeline<ChatContext>([timeout({ timeoutMs: 10, onLate })]).run(context, core),
        clock,
      );
      settle.reject(new Error("connection reset"));
      await clock.advance(1);
      expect(String(late)).toBe("Error: connection reset");
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });

  it("R27: neither a failure in time nor the abort of a call that was given up is reported as late", async () => {
    const late: unknown[] = [];
    const layer = timeout({ timeoutMs: 10, onLate: (error) => void late.push(error) });
    const failing = setup({ script: [overloaded()], layers: [layer] });
    expect(String(await finish(failing.run(), failing.clock))).toMatch(/overloaded/);
    const { clock, context, core } = hanging({ listens: true });
    const error = await finish(new MiddlewarePipeline<ChatContext>([layer]).run(context, core), clock);
    expect(String(error)).toMatch(/did not answer within 10 ms/);
    await clock.advance(1);
    expect(late).toEqual([]);
  });

  it("R27: a cancellation from outside comes at once, as what it is", async () => {
    const { clock, token, context, core } = hanging({ listens: false });
    const ended = new MiddlewarePipeline<ChatContext>([timeout()])
      .run(context, core)
      .catch((error: unknown) => error);
    await clock.advance(5);
    token.cancel("the user left");
    expect(String(await ended)).toMatch(/the user left/);
    expect(clock.pending).toBe(0);
  });

  it("R27: a call that is cancelled already is not begun", async () => {
    const { clock, token, context } = hanging({ listens: true });
    token.cancel("before");
    let begun = false;
    const error = await finish(
      new MiddlewarePipeline<ChatContext>([timeout()]).run(context, async () => void (begun = true)),
      clock,
    );
    expect(isCancellation(error)).toBe(true);
    expect(begun).toBe(false);
  });

  it("R27: a call in time leaves nothing behind", async () => {
    const clock = virtualClock();
    const token = new CancellationToken();
    const context = chatContext({ clock, token });
    await new MiddlewarePipeline<ChatContext>([timeout()]).run(context, coreOf(context));
    expect(context.result?.message.content).toBe("ok");
    expect(clock.pending).toBe(0);
    expect(getEventListeners(token.signal, "abort")).toEqual([]);
  });
});

describe("R27: retry, fallback and timeout together", () => {
  it("R27: a slow model is given up, the other asked, and all of it tried again, on one clock", async () => {
    const clock = virtualClock();
    const token = new CancellationToken();
    const calls: string[] = [];
    const slow = {
      ...fakeModel("slow"),
      generate: () => {
        calls.push(`slow at ${clock.now()}`);
        return new Promise<never>(() => {});
      },
    };
    let spareFails = 2;
    const spare = {
      ...fakeModel("spare"),
      generate: async () => {
        calls.push(`spare at ${clock.now()}`);
        if (spareFails-- > 0) throw overloaded(4_000);
        return answer("from the spare");
      },
    };
    const context = chatContext({ clock, token, model: slow });
    const pipeline = new MiddlewarePipeline<ChatContext>([
      retry({ random: () => 0 }),
      fallback({ models: [spare] }),
      timeout({ timeoutMs: 1_000 }),
    ]);
    expect(await finish(pipeline.run(context, coreOf(context)), clock)).toBeUndefined();
    expect(calls).toEqual([
      "slow at 0",
      "spare at 1000",
      "slow at 5000",
      "spare at 6000",
      "slow at 10000",
      "spare at 11000",
    ]);
    expect(context.result?.model).toBe("spare");
    expect(clock.pending).toBe(0);
    expect(getEventListeners(token.signal, "abort")).toEqual([]);
  });

  it("R27: an answer that comes after its time limit does not take the place of the second try's", async () => {
    const clock = virtualClock();
    const first = Promise.withResolvers<void>();
    let calls = 0;
    const model = {
      ...fakeModel("main"),
      generate: async () => {
        if (++calls > 1) return answer("second");
        await first.promise;
        return answer("first, too late");
      },
    };
    const context = chatContext({ clock, model });
    const pipeline = new MiddlewarePipeline<ChatContext>([
      retry({ random: () => 0 }),
      timeout({ timeoutMs: 100 }),
    ]);
    expect(await finish(pipeline.run(context, coreOf(context)), clock)).toBeUndefined();
    first.resolve();
    await clock.advance(1);
    expect(context.result?.message.content).toBe("second");
  });

  it("R27: a spare model that is given up is not the model of the next try", async () => {
    const clock = virtualClock();
    const calls: string[] = [];
    const main = {
      ...fakeModel("main"),
      generate: async () => {
        calls.push(`main at ${clock.now()}`);
        if (calls.length === 1) throw overloaded();
        return answer("from the main one");
      },
    };
    const late = Promise.withResolvers<never>();
    const spare = {
      ...fakeModel("spare"),
      generate: () => {
        calls.push(`spare at ${clock.now()}`);
        return late.promise;
      },
    };
    const context = chatContext({ clock, model: main });
    const pipeline = new MiddlewarePipeline<ChatContext>([
      retry({ random: () => 0 }),
      timeout({ timeoutMs: 1_000 }),
      fallback({ models: [spare] }),
    ]);
    expect(await finish(pipeline.run(context, coreOf(context)), clock)).toBeUndefined();
    expect(calls).toEqual(["main at 0", "spare at 0", "main at 1000"]);
    expect(context.model).toBe(main);
    context.model = spare;
    late.reject(overloaded());
    await clock.advance(1);
    expect(context.model).toBe(spare);
  });

  it("R27: nor is that of an outer fallback, if one inside of another is given up", async () => {
    const clock = virtualClock();
    const calls: string[] = [];
    const named = (name: string, act: () => Promise<never>) => ({
      ...fakeModel(name),
      generate: () => {
        calls.push(name);
        return act();
      },
    });
    const fails = (): Promise<never> => Promise.reject(overloaded());
    const hangs = (): Promise<never> => (calls.length === 4 ? new Promise(() => {}) : fails());
    const main = named("main", fails);
    const [outer, inner] = [named("outer", fails), named("inner", hangs)];
    const context = chatContext({ clock, model: main });
    const pipeline = new MiddlewarePipeline<ChatContext>([
      retry({ maxRetries: 1, random: () => 0 }),
      timeout({ timeoutMs: 1_000 }),
      fallback({ models: [outer] }),
      fallback({ models: [inner] }),
    ]);
    await finish(pipeline.run(context, coreOf(context)), clock);
    const round = ["main", "inner", "outer", "inner"];
    expect(calls).toEqual([...round, ...round]);
    expect(context.model).toBe(main);
  });

  it("R27: after a model that was given up and never ends, the other one's failures are retried", async () => {
    const clock = virtualClock();
    const late = Promise.withResolvers<never>();
    const main = { ...fakeModel("main"), generate: () => late.promise };
    const spare = fakeModel("spare", overloaded(), overloaded(), "from the spare");
    const context = chatContext({ clock, model: main });
    const pipeline = new MiddlewarePipeline<ChatContext>([
      fallback({ models: [spare] }),
      timeout({ timeoutMs: 1_000 }),
      retry({ random: () => 0 }),
      async (_, next) => {
        // The first one ends in the middle of the second one's attempts.
        if (spare.requests.length === 1) late.reject(overloaded());
        await next();
      },
    ]);
    expect(await finish(pipeline.run(context, coreOf(context)), clock)).toBeUndefined();
    expect(context.result?.message.content).toBe("from the spare");
    expect(context.retried).toBe(false);
    expect(getEventListeners(context.signal, "abort")).toEqual([]);
  });

  it.each([
    ["retry", () => retry({ baseMs: 10, random: () => 1 })],
    ["fallback", () => fallback({ models: [fakeModel("spare")] })],
  ])("R27: %s does not go on with a call that was given up", async (_, layer) => {
    const clock = virtualClock();
    const hooks = recordingHooks();
    const late = Promise.withResolvers<never>();
    const main = { ...fakeModel("main"), generate: () => late.promise };
    const context = chatContext({ clock, hooks, model: main });
    const pipeline = new MiddlewarePipeline<ChatContext>([timeout({ timeoutMs: 1_000 }), layer()]);
    expect(String(await finish(pipeline.run(context, coreOf(context)), clock))).toMatch(/did not answer/);
    late.reject(overloaded());
    await clock.advance(0);
    expect(hooks.events).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
