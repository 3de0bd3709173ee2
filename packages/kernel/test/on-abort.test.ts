import { expect, test, vi } from "vitest";
import { abortable, onAbort } from "../src/loop.ts";

/** A signal of which is known who listens to it. */
function watched() {
  const controller = new AbortController();
  const { signal } = controller;
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  return {
    signal,
    abort: () => controller.abort(),
    listeners: () => added.mock.calls.length - removed.mock.calls.length,
    /** Calls the listener as the platform does, but what it throws comes back. */
    tell: () => {
      const listener = added.mock.calls[0]?.[1];
      if (typeof listener === "function") listener(new Event("abort"));
    },
  };
}

test("R9: however many wait on a signal, it has one listener, and none when all have left", () => {
  const { signal, listeners } = watched();
  const leaves = Array.from({ length: 100 }, () => onAbort(signal, () => {}));
  expect(listeners()).toBe(1);
  for (const leave of leaves) leave();
  expect(listeners()).toBe(0);
  onAbort(signal, () => {});
  // Who leaves again takes nobody else along.
  for (const leave of leaves) leave();
  onAbort(signal, () => {});
  expect(listeners()).toBe(1);
});

test("R9: all hear of it once, in the order in which they came, and nobody who has left, also just now", () => {
  const { signal, abort } = watched();
  const heard: number[] = [];
  let leaveLast = (): void => {};
  onAbort(signal, () => {
    heard.push(1);
    leaveLast();
  });
  const leave = onAbort(signal, () => heard.push(2));
  onAbort(signal, () => heard.push(3));
  leaveLast = onAbort(signal, () => heard.push(4));
  leave();
  leave();
  abort();
  expect(heard).toEqual([1, 3]);
});

test("R9: one that throws keeps nobody else from hearing, and the platform is told", () => {
  const { signal, tell } = watched();
  const heard: number[] = [];
  onAbort(signal, () => {
    throw new Error("first");
  });
  onAbort(signal, () => heard.push(2));
  expect(tell).toThrow("first");
  expect(heard).toEqual([2]);
  const other = watched();
  for (const text of ["one", "two"])
    onAbort(other.signal, () => {
      throw new Error(text);
    });
  expect(other.tell).toThrow(AggregateError);
});

test("abortable gives the outcome, or the cancellation as soon as its signal aborts", async () => {
  const controller = new AbortController();
  expect(await abortable(1, AbortSignal.abort())).toBe(1);
  expect(await abortable(Promise.resolve(2), undefined)).toBe(2);
  expect(await abortable(Promise.resolve(3), controller.signal)).toBe(3);
  const waiting = abortable(new Promise<never>(() => {}), controller.signal);
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
  await expect(abortable(new Promise<never>(() => {}), controller.signal)).rejects.toMatchObject({
    code: "CANCELLED",
  });
});

test("R9: a signal that throws when it is left does not cost what was waited for", async () => {
  const { signal } = new AbortController();
  signal.removeEventListener = () => {
    throw new TypeError("Illegal invocation");
  };
  expect(await abortable(Promise.resolve("done"), signal)).toBe("done");
});
