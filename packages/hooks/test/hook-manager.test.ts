import { isRaviError, systemClock } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { HookEvent, HookManager, type HookProblem } from "../src/index.ts";
import { base, dispatchSample, EVENTS, llmEnd, memoryLogger, raise, samples } from "./sample.ts";

const { LLM_END, RUN_END, STEP_START } = HookEvent;
/** Put together, as linters take every object with a `then` for an accident. */
const THEN = ["th", "en"].join("");
const thenable = (then: unknown): object => ({ [THEN]: then });
const step = () => ({ ...base(), step: 1 });

function managed(options: { timeoutMs?: number; maxPending?: number } = {}) {
  const clock = virtualClock();
  const problems: HookProblem[] = [];
  const hooks = new HookManager({ ...options, clock, onError: (problem) => void problems.push(problem) });
  return { clock, problems, hooks };
}

describe("registering", () => {
  test("R20: on, register, unregister, clear and has agree on who listens", () => {
    const { hooks } = managed();
    const callback = (): void => {};
    expect(hooks.has(LLM_END)).toBe(false);
    const off = hooks.on(LLM_END, callback);
    expect(hooks.has(LLM_END)).toBe(true);
    expect(hooks.has(RUN_END)).toBe(false);
    off();
    off();
    expect(hooks.has(LLM_END)).toBe(false);

    hooks.register(LLM_END, callback);
    hooks.register(RUN_END, callback);
    expect(hooks.unregister(LLM_END, callback)).toBe(true);
    expect(hooks.unregister(LLM_END, callback)).toBe(false);
    expect(
      hooks.unregister(RUN_END, () => {}),
      "somebody else listens",
    ).toBe(false);
    expect(hooks.has(RUN_END)).toBe(true);

    hooks.register(LLM_END, callback);
    hooks.clear(LLM_END);
    expect([hooks.has(LLM_END), hooks.has(RUN_END)]).toEqual([false, true]);
    hooks.clear();
    expect(EVENTS.filter((event) => hooks.has(event))).toEqual([]);
  });

  test("R20: an event that nobody listens to is no problem", () => {
    const { hooks, problems } = managed();
    expect(hooks.dispatch(LLM_END, llmEnd())).toBeUndefined();
    expect(hooks.dispatchOwn(LLM_END, llmEnd())).toBeUndefined();
    expect(problems).toEqual([]);
  });

  test("R20: a callback added twice is called twice, and each is taken off by itself", () => {
    const { hooks } = managed();
    let calls = 0;
    const callback = (): number => ++calls;
    const first = hooks.on(STEP_START, callback);
    hooks.on(STEP_START, callback);
    void hooks.dispatch(STEP_START, step());
    expect(calls).toBe(2);
    first();
    void hooks.dispatch(STEP_START, step());
    expect(calls).toBe(3);
    hooks.register(STEP_START, callback);
    hooks.unregister(STEP_START, callback);
    expect(hooks.has(STEP_START)).toBe(false);
  });

  test("R20: who left with all the others takes nobody along who came afterwards", () => {
    const { hooks } = managed();
    let heard = 0;
    const off = hooks.on(STEP_START, () => {});
    hooks.clear();
    hooks.on(STEP_START, () => heard++);
    off();
    expect(hooks.has(STEP_START)).toBe(true);
    void hooks.dispatch(STEP_START, step());
    expect(heard).toBe(1);
  });

  test("R20: onAny hears every event until it leaves", () => {
    const { hooks } = managed();
    const heard: string[] = [];
    const off = hooks.onAny((event, payload) => heard.push(`${event}@${payload.at}`));
    for (const event of EVENTS) void dispatchSample(hooks, event);
    expect(heard).toEqual(EVENTS.map((event) => `${event}@1`));
    off();
    expect(EVENTS.filter((event) => hooks.has(event))).toEqual([]);
  });

  test("R20: listeners of one agent do not hear another's", () => {
    const [one, other] = [new HookManager(), new HookManager()];
    let heard = 0;
    one.on(STEP_START, () => heard++);
    void other.dispatch(STEP_START, step());
    expect([heard, other.has(STEP_START)]).toEqual([0, false]);
  });

  test("R20: an unknown event, a callback that is none and a misspelt option are refused by name", () => {
    const { hooks } = managed();
    const refused = (field: string) => expect.objectContaining({ code: "INVALID_VALUE", field });
    expect(thrownBy(() => hooks.on("llm_finished" as never, () => {}))).toEqual(refused("event"));
    expect(thrownBy(() => hooks.on(LLM_END, undefined as never))).toEqual(refused("callback"));
    expect(thrownBy(() => hooks.onAny({} as never))).toEqual(refused("callback"));
    expect(thrownBy(() => new HookManager({ timeout: 5 } as never))).toEqual(
      refused("HookManager options.timeout"),
    );
    for (const timeoutMs of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 31]) {
      expect(thrownBy(() => new HookManager({ timeoutMs }))).toEqual(refused("timeoutMs"));
    }
    expect(thrownBy(() => new HookManager({ maxPending: 0 }))).toEqual(refused("maxPending"));
  });
});

describe("dispatching", () => {
  test("R20: of very many who leave one by one, from the middle of a dispatch too, the others are told once and in order", () => {
    const { hooks } = managed();
    const heard: number[] = [];
    const leaves = Array.from({ length: 10_000 }, (_, n) =>
      hooks.onAny((...[event]) => {
        if (event !== STEP_START) return;
        heard.push(n);
        // All but every thousandth, while the first of them is told.
        if (n === 0) for (const [at, leave] of leaves.entries()) if (at % 1_000 !== 0) leave();
      }),
    );
    const stayed = Array.from({ length: 10 }, (_, n) => n * 1_000);
    hooks.dispatch(STEP_START, step());
    expect(heard.splice(0)).toEqual(stayed);
    const off = hooks.on(STEP_START, () => heard.push(-1));
    hooks.dispatch(STEP_START, step());
    expect(heard).toEqual([...stayed, -1]);
    for (const leave of leaves) leave();
    expect(hooks.has(STEP_START)).toBe(true);
    off();
    expect(EVENTS.filter((event) => hooks.has(event))).toEqual([]);
  });

  test("R20: listeners leave and come during a dispatch: who left is not called, who came waits for the next", () => {
    const { hooks } = managed();
    const heard: string[] = [];
    const offFirst = hooks.on(STEP_START, () => {
      heard.push("first");
      offFirst();
      offThird();
      hooks.on(STEP_START, () => heard.push("late"));
    });
    hooks.on(STEP_START, () => heard.push("second"));
    const offThird = hooks.on(STEP_START, () => heard.push("third"));
    void hooks.dispatch(STEP_START, step());
    expect(heard).toEqual(["first", "second"]);
    void hooks.dispatch(STEP_START, step());
    expect(heard).toEqual(["first", "second", "second", "late"]);
  });

  test("R20: clear from inside a listener silences those behind it at once", () => {
    const { hooks } = managed();
    let heard = 0;
    hooks.on(STEP_START, () => hooks.clear());
    hooks.on(STEP_START, () => heard++);
    void hooks.dispatch(STEP_START, step());
    expect([heard, hooks.has(STEP_START)]).toEqual([0, false]);
  });

  test("R20: with synchronous listeners there is nothing to await", () => {
    const { hooks, clock } = managed();
    hooks.on(STEP_START, () => "a value");
    expect(hooks.dispatch(STEP_START, step())).toBeUndefined();
    expect(hooks.dispatch(RUN_END, samples().run_end)).toBeUndefined();
    expect(hooks.drain()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  test("R20: asynchronous listeners run side by side, and the promise waits for all of them", async () => {
    const { hooks, clock } = managed();
    const trace: string[] = [];
    const gate = Promise.withResolvers<void>();
    for (const name of ["a", "b"]) {
      hooks.on(STEP_START, async () => {
        trace.push(`${name} starts`);
        await gate.promise;
        trace.push(`${name} ends`);
      });
    }
    hooks.on(STEP_START, () => trace.push("c"));
    const done = hooks.dispatch(STEP_START, step());
    expect(trace).toEqual(["a starts", "b starts", "c"]);
    expect(clock.pending).toBe(1);
    gate.resolve();
    expect(await done).toBeUndefined();
    expect(trace).toEqual(["a starts", "b starts", "c", "a ends", "b ends"]);
    expect(clock.pending).toBe(0);
    expect(hooks.drain()).toBeUndefined();
  });

  test("R20: drain waits for every dispatch so far, also after the listeners were cleared", async () => {
    const { hooks, clock } = managed();
    const gate = Promise.withResolvers<void>();
    let ended = 0;
    hooks.on(STEP_START, () => gate.promise.then(() => ended++));
    for (let n = 0; n < 3; n++) void hooks.dispatch(STEP_START, step());
    hooks.clear();
    const drained = Promise.resolve(hooks.drain()).then(() => ended);
    gate.resolve();
    expect(await drained).toBe(3);
    expect(clock.pending).toBe(0);
  });

  test("R20: where nobody listens the payload is not even looked at", () => {
    const { hooks } = managed();
    const payload = new Proxy(llmEnd(), {
      ownKeys: () => expect.unreachable("the payload was read"),
      get: () => expect.unreachable("the payload was read"),
    });
    expect(hooks.dispatch(LLM_END, payload)).toBeUndefined();
  });
});

describe("payloads", () => {
  test("R20: every listener gets a deeply frozen copy, and the original stays as it was", () => {
    for (const event of EVENTS) {
      const { hooks } = managed();
      const payloads = samples();
      const got: unknown[] = [];
      hooks.on(event, (payload) => got.push(payload));
      void dispatchSample(hooks, event, payloads);
      expect(got).toEqual([payloads[event]]);
      expect(got[0]).not.toBe(payloads[event]);
      expect(looseParts(got[0])).toEqual([]);
      expect(Object.isFrozen(payloads[event])).toBe(false);
    }
  });

  test("R20: what was made for an event is handed out as it is, frozen all the way down", () => {
    for (const event of EVENTS) {
      const { hooks, problems } = managed();
      const payload = samples()[event];
      const got: unknown[] = [];
      hooks.on(event, (told) => got.push(told));
      hooks.on(event, (told) => got.push(told));
      expect(hooks.dispatchOwn(event, payload)).toBeUndefined();
      expect([got[0], got[1]]).toEqual([payload, payload]);
      expect(got[0]).toBe(payload);
      expect(got).toEqual([samples()[event], samples()[event]]);
      expect([looseParts(payload), problems]).toEqual([[], []]);
    }
  });

  test("R20: it is told under the same rules: failures stay with the listener, and slow ones are waited for by drain", async () => {
    const { hooks, problems } = managed();
    const gate = Promise.withResolvers<void>();
    hooks.on(STEP_START, () => {
      throw new Error("no");
    });
    hooks.on(STEP_START, () => gate.promise);
    const told = hooks.dispatchOwn(STEP_START, step());
    expect(problems).toMatchObject([{ kind: "failed", event: STEP_START }]);
    const ended = Promise.all([told, hooks.drain()]).then(() => "drained");
    gate.resolve();
    expect(await ended).toBe("drained");
  });

  test("R20: a manager with a dispatch of its own hears of it there", () => {
    const seen: unknown[] = [];
    class Counting extends HookManager {
      override dispatch(...told: Parameters<HookManager["dispatch"]>): ReturnType<HookManager["dispatch"]> {
        seen.push(told[0]);
        return super.dispatch(...told);
      }
    }
    const hooks = new Counting();
    hooks.on(STEP_START, () => void seen.push("told"));
    void hooks.dispatchOwn(STEP_START, step());
    expect(seen).toEqual([STEP_START, "told"]);
  });

  test("R20: an object on Object.prototype is not frozen with it", () => {
    const { hooks } = managed();
    hooks.onAny(() => {});
    const polluted = { a: 1 };
    Reflect.set(Object.prototype, "polluted", polluted);
    try {
      for (const event of EVENTS) void hooks.dispatchOwn(event, samples()[event]);
    } finally {
      Reflect.deleteProperty(Object.prototype, "polluted");
    }
    expect(Object.isFrozen(polluted)).toBe(false);
  });

  test("R20: what the run changes afterwards does not reach a listener", () => {
    const { hooks } = managed();
    const usage = { inputTokens: 1, outputTokens: 1 };
    let seen: unknown;
    hooks.on(LLM_END, (payload) => (seen = payload.usage));
    void hooks.dispatch(LLM_END, llmEnd({ usage }));
    usage.inputTokens = 99;
    expect(seen).toEqual({ inputTokens: 1, outputTokens: 1 });
  });

  test("R20: nothing that acts comes along: no function, getter, symbol, prototype or instance", () => {
    const { hooks } = managed();
    let reads = 0;
    class Account {
      balance = 5;
      spend(): void {
        this.balance = 0;
      }
    }
    const hostile = {
      act: () => {},
      get lazy() {
        reads++;
        return { list: [{ deep: 1 }, () => {}] };
      },
      [Symbol("door")]: { open: true },
      account: new Account(),
      ["__proto__"]: { polluted: true },
      map: new Map([["a", 1]]),
    };
    let got: Record<string, unknown> = {};
    hooks.on(LLM_END, (payload) => void (got = { copy: payload }["copy"] as never));
    void hooks.dispatch(LLM_END, Object.assign(Object.create(null), llmEnd(), { hostile }));
    const copy = got["hostile"] as typeof hostile;
    expect(looseParts(got)).toEqual([]);
    expect(reads).toBe(1);
    expect(copy.act).toBeUndefined();
    expect(copy.lazy.list).toEqual([{ deep: 1 }, undefined]);
    expect(copy.account).toEqual({ balance: 5 });
    expect(copy.account).not.toBeInstanceOf(Account);
    expect(Object.getOwnPropertySymbols(copy)).toEqual([]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(copy.map).toEqual({});
  });

  test("R20: an object on Object.prototype does not come along, nor does it hinder the copy", () => {
    const { hooks, problems } = managed();
    let keys: string[] = [];
    hooks.on(STEP_START, (payload) => (keys = Object.keys(payload)));
    Reflect.set(Object.prototype, "polluted", { a: 1 });
    try {
      void hooks.dispatch(STEP_START, step());
    } finally {
      Reflect.deleteProperty(Object.prototype, "polluted");
    }
    expect([keys, problems]).toEqual([Object.keys(step()), []]);
  });

  test("R20: a payload that cannot be copied is reported, and nobody is told", () => {
    const { hooks, problems } = managed();
    let heard = 0;
    hooks.on(LLM_END, () => heard++);
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const unreadable = Object.defineProperty({}, "x", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    void hooks.dispatch(LLM_END, { ...llmEnd(), usage: cyclic as never });
    void hooks.dispatch(LLM_END, { ...llmEnd(), usage: unreadable as never });
    expect(heard).toBe(0);
    expect(problems.map(({ kind, listener }) => [kind, listener])).toEqual([
      ["payload", ""],
      ["payload", ""],
    ]);
    expect(isRaviError(problems[0]?.error, "INVALID_VALUE")).toBe(true);
  });
});

describe("cutting off", () => {
  test("R20: a listener that never settles is cut off after its time and reported once, not once per event", async () => {
    const { hooks, clock, problems } = managed({ timeoutMs: 100 });
    hooks.on(STEP_START, function sleepy() {
      return new Promise(() => {});
    });
    for (let n = 0; n < 3; n++) void hooks.dispatch(STEP_START, step());
    let drained = false;
    void Promise.resolve(hooks.drain()).then(() => (drained = true));
    await clock.advance(99);
    expect([drained, problems.length]).toEqual([false, 0]);
    await clock.advance(1);
    expect(drained).toBe(true);
    void hooks.dispatch(STEP_START, step());
    await clock.runAll();
    expect(problems.map(({ kind, event, listener }) => ({ kind, event, listener }))).toEqual([
      { kind: "hung", event: STEP_START, listener: "sleepy" },
    ]);
    expect(problems[0]?.message).toContain("within 100 ms");
    expect(clock.pending).toBe(0);
  });

  test("R20: the default time limit is five seconds, and a clock without timers does not disarm it", async () => {
    const { hooks, clock, problems } = managed();
    hooks.on(STEP_START, () => new Promise(() => {}));
    void hooks.dispatch(STEP_START, step());
    await clock.advance(4_999);
    expect(problems).toHaveLength(0);
    await clock.advance(1);
    expect(problems).toHaveLength(1);

    const timerless = new HookManager({ timeoutMs: 1, clock: systemClock });
    timerless.on(STEP_START, () => new Promise(() => {}));
    void timerless.dispatch(STEP_START, step());
    expect(await timerless.drain()).toBeUndefined();
  });

  test("R20: each hanging listener is reported once, also one of onAny over all events", async () => {
    const { hooks, clock, problems } = managed();
    hooks.onAny(function everything() {
      return new Promise(() => {});
    });
    hooks.on(STEP_START, function one() {
      return new Promise(() => {});
    });
    for (const event of EVENTS) void dispatchSample(hooks, event);
    await clock.runAll();
    expect(problems.map(({ listener }) => listener).toSorted()).toEqual(["everything", "one"]);
  });

  test("R20: a quick listener beside a hanging one is not blamed, and what comes late changes nothing", async () => {
    const { hooks, clock, problems } = managed({ timeoutMs: 10 });
    const late = Promise.withResolvers<void>();
    hooks.on(STEP_START, async function quick() {});
    hooks.on(STEP_START, function slow() {
      return late.promise;
    });
    void hooks.dispatch(STEP_START, step());
    await clock.runAll();
    late.reject(new Error("too late to matter"));
    await clock.advance(1);
    expect(problems.map(({ kind, listener }) => [kind, listener])).toEqual([["hung", "slow"]]);
  });

  test("R20: a listener with too many pending calls misses events, is told of once, and catches up afterwards", async () => {
    const { hooks, clock, problems } = managed({ maxPending: 2 });
    let calls = 0;
    hooks.on(STEP_START, () => {
      calls++;
      return new Promise(() => {});
    });
    for (let n = 0; n < 5; n++) void hooks.dispatch(STEP_START, step());
    expect(calls).toBe(2);
    await clock.runAll();
    void hooks.dispatch(STEP_START, step());
    expect(calls).toBe(3);
    expect(problems.map(({ kind }) => kind)).toEqual(["overloaded", "hung"]);
    await clock.runAll();
  });
});

describe("failing", () => {
  test("R20: without a logger the console is told, once for each listener; with somebody else it is not", async () => {
    const said: unknown[] = [];
    vi.spyOn(console, "error").mockImplementation((message: unknown) => void said.push(message));
    onTestFinished(() => void vi.restoreAllMocks());
    const fill = async (hooks: HookManager): Promise<void> => {
      hooks.on(STEP_START, function broken() {
        throw new TypeError("no such metric");
      });
      hooks.on(STEP_START, async function alsoBroken() {
        throw new RangeError("too far");
      });
      for (let n = 0; n < 3; n++) await hooks.dispatch(STEP_START, step());
    };
    await fill(managed().hooks);
    await fill(new HookManager({ logger: memoryLogger(), clock: virtualClock() }));
    expect(said).toEqual([]);
    await fill(new HookManager({ clock: virtualClock() }));
    expect(said).toEqual([
      "hook broken of step_start failed: TypeError: no such metric",
      "hook alsoBroken of step_start failed: RangeError: too far",
    ]);
  });

  test("R20: a failure is logged with its listener and its run, and swallowed", async () => {
    const logger = memoryLogger();
    const hooks = new HookManager({ logger, clock: virtualClock() });
    hooks.on(STEP_START, function broken() {
      throw new TypeError("no such metric");
    });
    hooks.on(STEP_START, async function alsoBroken() {
      throw new RangeError("too far");
    });
    await hooks.dispatch(STEP_START, step());
    expect(logger.lines).toEqual([
      {
        level: "error",
        message: "hook broken of step_start failed: TypeError: no such metric",
        fields: { kind: "failed", event: STEP_START, listener: "broken", runId: "run-1" },
      },
      {
        level: "error",
        message: "hook alsoBroken of step_start failed: RangeError: too far",
        fields: { kind: "failed", event: STEP_START, listener: "alsoBroken", runId: "run-1" },
      },
    ]);
  });

  test("R20: whatever a listener throws, returns or is, the others are called and the problem is told", async () => {
    const { hooks, clock, problems } = managed();
    const bomb = new Proxy(
      {},
      {
        get: () => throwing("get"),
        has: () => throwing("has"),
        getPrototypeOf: () => throwing("prototype"),
      },
    );
    const returns: unknown[] = [
      thenable(() => throwing("then")),
      thenable(async () => throwing("async then")),
      Object.defineProperty({}, THEN, { get: () => throwing("getter") }),
      Object.assign(
        Promise.resolve(),
        thenable(() => throwing("a promise's own then")),
      ),
      bomb,
      thenable((_: unknown, reject: (error: unknown) => void) => [reject(undefined), reject(1)]),
      Promise.resolve().then(() => raise(bomb)),
    ];
    for (const value of returns) hooks.on(STEP_START, () => value);
    for (const value of [undefined, null, 0, "text", Symbol("s"), 1n, () => {}, bomb]) {
      hooks.on(STEP_START, () => {
        raise(value);
      });
    }
    hooks.on(
      STEP_START,
      new Proxy(() => {}, { apply: () => throwing("apply"), get: () => throwing("name") }),
    );
    let last = 0;
    hooks.on(STEP_START, () => last++);
    await hooks.dispatch(STEP_START, step());
    expect(last).toBe(1);
    expect(problems.map(({ kind }) => kind)).toEqual(Array.from({ length: 16 }, () => "failed"));
    expect(
      problems.every(({ message }) => message.startsWith("hook (anonymous) of step_start failed: ")),
    ).toBe(true);
    expect(problems.some((problem) => "error" in problem && problem.error === undefined)).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("R20: a thenable that calls back at once or twice counts once", async () => {
    const { hooks, clock, problems } = managed();
    hooks.on(STEP_START, () => thenable((done: () => void) => [done(), done()]));
    expect(hooks.dispatch(STEP_START, step())).toBeUndefined();
    hooks.on(STEP_START, async () => {});
    await hooks.dispatch(STEP_START, step());
    expect([problems.length, clock.pending]).toEqual([0, 0]);
  });

  test("R20: a logger or an error handler that fails itself, also later, reaches nobody", async () => {
    const fail = (): never => throwing("logger");
    const hooks = new HookManager({
      logger: { debug: fail, info: fail, warn: fail, error: fail },
      onError: async () => throwing("handler"),
    });
    hooks.on(STEP_START, () => throwing("listener"));
    expect(hooks.dispatch(STEP_START, step())).toBeUndefined();
    await new Promise((resolve) => setImmediate(resolve));
    expect(hooks.drain()).toBeUndefined();
  });

  test("R20: an error handler that dispatches does not go round for ever", async () => {
    let told = 0;
    const hooks: HookManager = new HookManager({
      clock: virtualClock(),
      onError: () => {
        told++;
        return hooks.dispatch(STEP_START, step());
      },
    });
    hooks.on(STEP_START, async () => throwing("always"));
    await hooks.dispatch(STEP_START, step());
    await hooks.drain();
    expect(told).toBe(1);
  });
});

describe("re-entry", () => {
  test("R20: a listener that dispatches the same event again does not hide those before it that still run", async () => {
    const { hooks } = managed();
    const gate = Promise.withResolvers<void>();
    hooks.on(STEP_START, ({ step: n }) => (n === 1 ? gate.promise : undefined));
    hooks.on(STEP_START, ({ step: n }) => {
      if (n === 1) void hooks.dispatch(STEP_START, { ...step(), step: 2 });
    });
    void hooks.dispatch(STEP_START, step());
    const drained = hooks.drain();
    expect(drained).toBeInstanceOf(Promise);
    gate.resolve();
    await drained;
    expect(hooks.drain()).toBe(undefined);
  });

  test("R20: a listener may dispatch; the inner listeners are done first", () => {
    const { hooks, problems } = managed();
    const heard: string[] = [];
    hooks.on(STEP_START, () => {
      heard.push("outer");
      void hooks.dispatch(LLM_END, llmEnd());
      heard.push("outer again");
    });
    hooks.on(LLM_END, () => heard.push("inner"));
    void hooks.dispatch(STEP_START, step());
    expect(heard).toEqual(["outer", "inner", "outer again"]);
    expect(problems).toEqual([]);
  });

  test("R20: a dispatch inside of a listener of the same event waits for its own listeners, not for the outer ones", async () => {
    const { hooks, clock } = managed();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const ends: string[] = [];
    let calls = 0;
    hooks.on(STEP_START, () => {
      const gate = gates[calls++ === 0 ? 0 : 1].promise;
      if (calls === 1) {
        const inner = hooks.dispatch(STEP_START, step());
        void Promise.resolve(inner).then(() => ends.push("inner"));
      }
      return gate;
    });
    const outer = hooks.dispatch(STEP_START, step());
    void Promise.resolve(outer).then(() => ends.push("outer"));
    gates[1].resolve();
    await clock.advance(1);
    expect(ends).toEqual(["inner"]);
    gates[0].resolve();
    await hooks.drain();
    expect(ends).toEqual(["inner", "outer"]);
    expect(clock.pending).toBe(0);
  });

  test("R20: endless recursion is bounded in depth and in breadth, told once per event, and leaves no trace", () => {
    const { hooks, problems } = managed();
    let calls = 0;
    for (let n = 0; n < 10; n++) {
      hooks.on(STEP_START, () => {
        calls++;
        void hooks.dispatch(STEP_START, step());
      });
    }
    void hooks.dispatch(STEP_START, step());
    expect(calls).toBeLessThanOrEqual(10_010);
    void hooks.dispatch(STEP_START, step());
    expect(problems.map(({ kind, event }) => [kind, event])).toEqual([["recursion", STEP_START]]);

    hooks.clear();
    let after = 0;
    hooks.on(STEP_START, () => after++);
    void hooks.dispatch(STEP_START, step());
    expect(after).toBe(1);
  });

  test("R20: a listener that awaits its own dispatch, or drains, ends by being cut off", async () => {
    const { hooks, clock } = managed({ maxPending: 50, timeoutMs: 10 });
    let calls = 0;
    hooks.on(STEP_START, async () => {
      calls++;
      await Promise.resolve();
      await hooks.dispatch(STEP_START, step());
    });
    hooks.on(LLM_END, async () => {
      await Promise.resolve();
      await hooks.drain();
    });
    void hooks.dispatch(STEP_START, step());
    void hooks.dispatch(LLM_END, llmEnd());
    await clock.runAll();
    expect(calls).toBe(50);
    expect(hooks.drain()).toBeUndefined();
    expect(clock.pending).toBe(0);
  });
});

function throwing(what: string): never {
  throw new Error(what);
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return expect.unreachable("nothing was thrown");
}

/** The objects inside a value that are not frozen. */
function looseParts(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Object.isFrozen(value) ? [] : [value];
  return [...own, ...Reflect.ownKeys(value).flatMap((key) => looseParts(Reflect.get(value, key)))];
}
