import { CancellationToken, DeadlineExceededError, isRaviError, type ModelEvent } from "@ravi/kernel";
import { readStream } from "@ravi/kernel/loop";
import { describe, expect, test } from "vitest";
import { type Answer, scriptedModel, virtualClock } from "../src/index.ts";
import { ask, collect } from "./helpers.ts";

/** A signal that tells how many listen on it. */
function countedSignal(): {
  signal: AbortSignal;
  abort: (reason?: unknown) => void;
  listeners: () => number;
} {
  const controller = new AbortController();
  const { signal } = controller;
  let count = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    count++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    count--;
    remove(...args);
  };
  return { signal, abort: (reason) => controller.abort(reason), listeners: () => count };
}

describe("delays", () => {
  test("come from the clock that is given", async () => {
    const clock = virtualClock();
    const model = scriptedModel([{ text: "late", delayMs: 1_000 }], { clock });
    let answered = false;
    const call = model.generate(ask("a")).then((response) => {
      answered = true;
      return response.message.content;
    });
    await clock.advance(999);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect(await call).toBe("late");
    expect(clock.pending).toBe(0);
  });

  test("a clock without timers falls back on real ones", async () => {
    const model = scriptedModel([{ text: "late", delayMs: 1 }], { clock: { now: () => 0 } });
    expect((await model.generate(ask("a"))).message.content).toBe("late");
  });

  test("lie between the pieces of a stream too", async () => {
    const clock = virtualClock();
    const model = scriptedModel([{ text: "abc", chunkDelayMs: 10 }], { clock, chunkSize: 1 });
    const seen: [number, string][] = [];
    const reading = readStream(model.stream(ask("a")), (event) => seen.push([clock.now(), event.delta]));
    await clock.advance(100);
    await reading;
    expect(seen).toEqual([
      [10, "a"],
      [20, "b"],
      [30, "c"],
    ]);
  });
});

describe("T4: an abort", () => {
  const slow: Record<string, Answer> = {
    "during the delay": { text: "late", delayMs: 1_000 },
    "while it hangs": { text: "never", fault: { type: "hang" } },
    "while it hangs in the middle": { text: "never comes whole", fault: { type: "hang", afterDeltas: 1 } },
    "between two pieces": { text: "a b c d e f g h i j", chunkDelayMs: 1_000 },
  };

  for (const [moment, answer] of Object.entries(slow)) {
    test(`${moment} rejects at once and leaves no timer and no listener`, async () => {
      const clock = virtualClock();
      const { signal, abort, listeners } = countedSignal();
      const model = scriptedModel([answer], { clock });
      const call = Promise.allSettled([collect(model.stream(ask("a"), { signal }))]);
      await clock.advance(1);
      expect(listeners()).toBe(1);
      abort(new Error("enough"));
      const [outcome] = await call;
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CANCELLED", reason: "enough" } });
      expect([clock.pending, listeners()]).toEqual([0, 0]);
    });
  }

  test("ends generate as well", async () => {
    const clock = virtualClock();
    const { signal, abort, listeners } = countedSignal();
    const model = scriptedModel([{ delayMs: 5 }, { fault: { type: "hang", afterDeltas: 3 } }], { clock });
    const calls = [model.generate(ask("a"), { signal }), model.generate(ask("b"), { signal })];
    const outcomes = Promise.allSettled(calls);
    await clock.advance(1);
    abort("stop");
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "CANCELLED", reason: "stop" } });
    }
    expect([clock.pending, listeners()]).toEqual([0, 0]);
  });

  test("ends a call whose script never answers; a later rejection of the script bothers nobody", async () => {
    const { signal, abort, listeners } = countedSignal();
    let fail: ((error: Error) => void) | undefined;
    const model = scriptedModel(() => new Promise<Answer>((_, reject) => (fail = reject)));
    const call = model.generate(ask("a"), { signal });
    abort();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    fail?.(new Error("too late"));
    // An unhandled rejection would come in this turn and fail the run.
    await new Promise((resolve) => setImmediate(resolve));
    expect(listeners()).toBe(0);
  });

  test("before the call means that there is no call", async () => {
    const model = scriptedModel(["unused"]);
    const signal = AbortSignal.abort("no");
    await expect(model.generate(ask("a"), { signal })).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(collect(model.stream(ask("a"), { signal }))).rejects.toMatchObject({ code: "CANCELLED" });
    expect(model.calls).toEqual([]);
    expect((await model.generate(ask("a"))).message.content).toBe("unused");
  });

  test("keeps the error of the token that was cancelled", async () => {
    const token = new CancellationToken();
    const late = new DeadlineExceededError({ deadline: 0 });
    const call = scriptedModel([{ fault: { type: "hang" } }]).generate(ask("a"), { signal: token.signal });
    token.cancel(late);
    await expect(call).rejects.toBe(late);
  });

  test("after the answer changes nothing, and nothing listens any more", async () => {
    const { signal, abort, listeners } = countedSignal();
    const model = scriptedModel([{ text: "done", delayMs: 1 }]);
    const response = await model.generate(ask("a"), { signal });
    expect(listeners()).toBe(0);
    abort();
    expect(response.message.content).toBe("done");
  });

  test("a consumer who breaks off leaves nothing behind", async () => {
    const clock = virtualClock();
    const { signal, listeners } = countedSignal();
    for await (const event of scriptedModel(["a long enough text"], { clock }).stream(ask("a"), { signal })) {
      expect(event.type).toBe("text");
      break;
    }
    expect([clock.pending, listeners()]).toEqual([0, 0]);
  });
});

describe("faults", () => {
  async function outcomeOf(answer: Answer): Promise<{ events: ModelEvent[]; error: unknown }> {
    const events: ModelEvent[] = [];
    try {
      for await (const event of scriptedModel([answer], { chunkSize: 1 }).stream(ask("a")))
        events.push(event);
    } catch (error) {
      return { events, error };
    }
    return { events, error: undefined };
  }

  test("an error is thrown as it is, before anything comes", async () => {
    const error = new TypeError("mine");
    for (const answer of [error, { error }, { text: "unseen", error }]) {
      await expect(scriptedModel([answer]).generate(ask("a"))).rejects.toBe(error);
      expect(await outcomeOf(answer)).toEqual({ events: [], error });
    }
  });

  test("a stream can break off after so many deltas", async () => {
    const { events, error } = await outcomeOf({ text: "abcdef", fault: { type: "cut", afterDeltas: 3 } });
    expect(events).toEqual(["a", "b", "c"].map((delta) => ({ type: "text", delta })));
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", kind: "SERVER_ERROR", retryable: true });
    expect((await outcomeOf({ text: "ab", fault: { type: "cut", afterDeltas: 0 } })).events).toEqual([]);
    expect((await outcomeOf({ text: "ab", fault: { type: "cut", afterDeltas: 9 } })).events).toHaveLength(2);
    const mine = new Error("mine");
    expect((await outcomeOf({ text: "ab", fault: { type: "cut", error: mine } })).error).toBe(mine);
  });

  test("a stream can end without its finish, which the kernel's reader takes for a failure", async () => {
    const answer: Answer = { text: "ab", fault: { type: "unfinished" } };
    const { events, error } = await outcomeOf(answer);
    expect([events.map((event) => event.type), error]).toEqual([["text", "text"], undefined]);
    await expect(readStream(scriptedModel([answer]).stream(ask("a")), () => {})).rejects.toMatchObject({
      code: "PROVIDER_ERROR",
    });
  });

  test("what breaks a stream also fails a call that is not streamed", async () => {
    for (const type of ["cut", "unfinished", "malformed"] as const) {
      const call = scriptedModel([{ text: "ab", fault: { type } }]).generate(ask("a"));
      await expect(call).rejects.toMatchObject({ code: "PROVIDER_ERROR", kind: "SERVER_ERROR" });
    }
  });

  test.each([
    [
      { status: 429, headers: { "Retry-After": "2" } },
      { kind: "RATE_LIMIT", retryAfterMs: 2_000 },
    ],
    [
      { status: 503, headers: { "retry-after": "soon" } },
      { kind: "OVERLOADED", retryAfterMs: undefined },
    ],
    [
      { status: 429, headers: { "retry-after": "Thu, 01 Jan 1970 00:01:00 GMT" } },
      { kind: "RATE_LIMIT", retryAfterMs: 60_000 },
    ],
    [
      { status: 429, headers: { "retry-after": "0.5" } },
      { kind: "RATE_LIMIT", retryAfterMs: 500 },
    ],
    [
      { status: 503, headers: { "Retry-After-Ms": "20", "retry-after": "1" } },
      { kind: "OVERLOADED", retryAfterMs: 20 },
    ],
    [
      { status: 429, code: "insufficient_quota" },
      { kind: "BILLING", retryable: false },
    ],
    [{ status: 401 }, { kind: "AUTH", status: 401, message: "refused with status 401 (scripted)" }],
    [{ status: 400, code: "context_length_exceeded" }, { kind: "CONTEXT_OVERFLOW" }],
  ])("the status %o is the error that a provider's client would throw", async (fault, expected) => {
    const model = scriptedModel([{ fault: { type: "status", ...fault } }], { clock: { now: () => 0 } });
    const error = await model.generate(ask("a")).catch((thrown: unknown) => thrown);
    expect(isRaviError(error, "PROVIDER_ERROR")).toBe(true);
    expect(error).toMatchObject({ provider: "scripted", model: "scripted", ...expected });
  });
});
