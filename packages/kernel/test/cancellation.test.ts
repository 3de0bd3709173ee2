import { getEventListeners } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { CancellationError, CancellationToken, cancellationOf, DeadlineExceededError } from "@ravi/kernel";

/** Its signal throws whenever somebody leaves it. */
function unleavable(): AbortController {
  const controller = new AbortController();
  controller.signal.removeEventListener = () => {
    throw new TypeError("Illegal invocation");
  };
  return controller;
}

describe("R9: CancellationToken", () => {
  test("R9: cancel is idempotent and keeps the first reason", () => {
    const token = new CancellationToken();
    expect([token.isCancelled, token.reason]).toEqual([false, undefined]);
    token.check();
    token.cancel("user stopped");
    token.cancel("too late");
    expect([token.isCancelled, token.reason]).toEqual([true, "user stopped"]);
    expect(() => token.check()).toThrow(CancellationError);
    expect(() => token.check()).toThrow("cancelled: user stopped");
  });

  test("R9: whatever it is cancelled with, what is thrown is a cancellation that says why", () => {
    const why = new DOMException("the page was left", "AbortError");
    const token = new CancellationToken();
    token.cancel(why);
    expect(token.reason).toBe("the page was left");
    expect(() => token.check()).toThrow(CancellationError);
    expect(token.signal.reason).toMatchObject({ code: "CANCELLED", cause: why });
    const late = new CancellationToken();
    late.cancel(new DeadlineExceededError({ deadline: 5 }));
    expect(() => late.check()).toThrow(DeadlineExceededError);
    for (const nothing of [undefined, null]) {
      const silent = new CancellationToken();
      silent.cancel(nothing as never);
      expect(silent.reason).toBe("no reason given");
    }
  });

  test("R9: cancel goes down, never up or sideways", () => {
    const root = new CancellationToken();
    const [left, right] = [root.child(), root.child()];
    const below = left.child();
    left.cancel("left only");
    expect([root, left, right, below].map((token) => token.isCancelled)).toEqual([false, true, false, true]);
    root.cancel("all");
    expect([root, left, right, below].map((token) => token.reason)).toEqual([
      "all",
      "left only",
      "all",
      "left only",
    ]);
  });

  test("R9: wait resolves with the reason, also of a parent", async () => {
    const root = new CancellationToken();
    const waiting = root.child().child().wait();
    root.cancel("enough");
    await expect(waiting).resolves.toBe("enough");
    await expect(root.wait()).resolves.toBe("enough");
  });

  test("R9: a callback added late fires at once, one taken off never", () => {
    const token = new CancellationToken();
    const [kept, dropped, late] = [vi.fn(), vi.fn(), vi.fn()];
    token.onCancel(kept);
    token.onCancel(dropped)();
    token.cancel("now");
    token.onCancel(late);
    expect(kept).toHaveBeenCalledTimes(1);
    expect(dropped).not.toHaveBeenCalled();
    expect(late).toHaveBeenCalledExactlyOnceWith(token.error);
  });

  test("R9: whoever listens may hear that the token was disposed of: once, and only if nothing else came of it", () => {
    const above = new CancellationToken();
    const [told, forgotten] = [vi.fn(), vi.fn()];
    const listen = (token: CancellationToken): (() => void) => token.onCancel(told, forgotten);
    const token = above.child();
    listen(token);
    token.dispose();
    token.dispose();
    expect([told.mock.calls.length, forgotten.mock.calls.length]).toEqual([0, 1]);
    listen(token);
    expect(forgotten).toHaveBeenCalledTimes(2);

    const cancelled = above.child();
    listen(cancelled);
    const left = above.child();
    listen(left)();
    above.cancel("stop");
    cancelled.dispose();
    left.dispose();
    expect([told.mock.calls.length, forgotten.mock.calls.length]).toEqual([1, 2]);
  });

  test("R9: a callback that another takes off while all are called is not called", () => {
    const token = new CancellationToken();
    const [second, third] = [vi.fn(), vi.fn()];
    let leave = (): void => {};
    token.onCancel(() => leave());
    leave = token.onCancel(second);
    token.onCancel(third);
    token.cancel("now");
    expect(second).not.toHaveBeenCalled();
    expect(third).toHaveBeenCalledTimes(1);
  });

  test("R9: a callback that throws does not keep the others from hearing, and is heard itself", () => {
    const token = new CancellationToken();
    const [before, after, below] = [vi.fn(), vi.fn(), vi.fn()];
    token.onCancel(before);
    token.onCancel(() => {
      throw new Error("broken callback");
    });
    token.onCancel(after);
    token.child().onCancel(below);
    expect(() => token.cancel("stop")).toThrow("broken callback");
    expect([before, after, below].map((call) => call.mock.calls.length)).toEqual([1, 1, 1]);
    expect(token.isCancelled).toBe(true);
  });

  test("R9: its signal aborts with the error, and is made only when asked for", () => {
    const token = new CancellationToken();
    const below = token.child();
    const signal = below.signal;
    expect(below.signal).toBe(signal);
    token.cancel("stop");
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBe(token.error);
    expect(token.signal.aborted).toBe(true);
  });

  test("R9: an outer signal cancels the token, with its reason", () => {
    const outer = new AbortController();
    const token = new CancellationToken(outer.signal);
    const heard = vi.fn();
    token.child().onCancel(heard);
    outer.abort(new Error("browser closed"));
    expect(token.reason).toBe("browser closed");
    expect(heard).toHaveBeenCalledOnce();

    const late = new CancellationToken(AbortSignal.abort("gone"));
    expect(late.reason).toBe("gone");
    expect(late.signal.aborted).toBe(true);
    expect(new CancellationToken(AbortSignal.abort()).reason).toBe("This operation was aborted");
    const wordless = Object.assign(new Error(), { name: "ResponseAborted" });
    expect(new CancellationToken(AbortSignal.abort(wordless)).reason).toBe("ResponseAborted");
  });

  test("R9: an outer signal that cannot be left is refused: at the end of a run its result would be lost", () => {
    const addEventListener = (): void => {};
    for (const outer of [{ aborted: false, addEventListener }, { removeEventListener: addEventListener }])
      expect(() => new CancellationToken(outer as never)).toThrow(
        /^signal is .*; expected an AbortSignal, such as/,
      );
  });

  test("R9: an outer signal that throws when it is left does not lose the result of a run, and is not heard again", () => {
    const outer = unleavable();
    const [ended, cancelled] = [new CancellationToken(outer.signal), new CancellationToken(outer.signal)];
    const heard = vi.fn();
    for (const token of [ended, cancelled]) token.onCancel(heard);
    ended.dispose();
    cancelled.cancel("now");
    outer.abort("later");
    expect([ended.reason, cancelled.reason, heard.mock.calls.length]).toEqual([undefined, "now", 1]);
  });

  test("R9: an error of ours passes through an outer signal as it is", () => {
    const outer = new AbortController();
    const deadline = new DeadlineExceededError({ deadline: 0 });
    const token = new CancellationToken(outer.signal);
    outer.abort(deadline);
    expect(token.error).toBe(deadline);
  });

  test("R9: a disposed child has left, and stays what it was", () => {
    const root = new CancellationToken();
    const [calm, cancelled] = [root.child(), root.child()];
    const heard = vi.fn();
    calm.onCancel(heard);
    cancelled.cancel("first");
    calm.dispose();
    cancelled.dispose();
    root.cancel("later");
    expect([calm.isCancelled, cancelled.reason]).toEqual([false, "first"]);
    expect(heard).not.toHaveBeenCalled();
    calm.cancel("after disposal");
    expect(calm.isCancelled).toBe(false);
  });

  test("R9: `using` disposes", () => {
    const outer = new AbortController();
    {
      using token = new CancellationToken(outer.signal);
      token.onCancel(() => {});
      expect(getEventListeners(outer.signal, "abort")).toHaveLength(1);
    }
    expect(getEventListeners(outer.signal, "abort")).toHaveLength(0);
  });

  test("R9: 10,000 children made and disposed leave no listener and no growth", () => {
    const outer = new AbortController();
    const root = new CancellationToken(outer.signal);
    const listening = (): number => getEventListeners(outer.signal, "abort").length;
    const touch = (child: CancellationToken, way: number): void => {
      if (way === 0) child.onCancel(() => {});
      if (way === 1) void child.signal;
      if (way === 2) void child.wait();
      if (way === 3) child.onCancel(() => {})();
    };
    for (let round = 0; round < 10_000; round++) {
      const child = root.child();
      touch(child, round % 5);
      expect(listening()).toBeLessThanOrEqual(1);
      child.dispose();
    }
    expect(listening()).toBe(0);
    // What it holds is what it held: nobody listens, so it is not even told by the outer signal.
    expect(Reflect.get(root, "listeners")?.size ?? 0).toBe(0);
  });
});

test("R9: whatever a signal was aborted with, there is an error that says so", () => {
  for (const reason of [5, null, {}, "enough", Object.assign(new Error("x"), { message: undefined })]) {
    expect(cancellationOf({ reason })).toMatchObject({ code: "CANCELLED" });
  }
});

test("T4: an error that does not say its message cancels as any other reason does", () => {
  const get = (): never => {
    throw new Error("no");
  };
  const reason = Object.defineProperty(new Error("x"), "message", { get });
  expect(cancellationOf({ reason }).reason).toBe("the signal was aborted");
});
