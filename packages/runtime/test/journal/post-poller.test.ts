import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { RunId } from "@ravi/kernel";
import { PostPoller } from "../../src/journal/sqlite/post-poller.ts";
import type { Items } from "../../src/journal/sqlite/items.ts";

const LOOK_MS = 250;
const ONE = RunId("one");

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

test.each(["version", "mark", "runsSince"] as const)(
  "R24: what comes while %s cannot be read is told as soon as it can",
  (failing) => {
    let [version, isBroken, told] = [1, false, 0];
    const read = <T>(name: typeof failing, value: T): T => {
      if (isBroken && name === failing) throw new Error("disk I/O error");
      return value;
    };
    const items: Pick<Items, "mark" | "runsSince"> = {
      mark: () => read("mark", undefined),
      runsSince: () => read("runsSince", new Set([ONE])),
    };
    const arrivals = new PostPoller({ items: items as Items, version: () => read("version", version) });
    arrivals.watchers.add(ONE, () => void told++);
    vi.advanceTimersByTime(LOOK_MS);
    expect(told, "once in any case").toBe(1);
    [version, isBroken] = [2, true];
    vi.advanceTimersByTime(3 * LOOK_MS);
    expect(told).toBe(1);
    isBroken = false;
    vi.advanceTimersByTime(LOOK_MS);
    expect(told).toBe(2);
    arrivals.stop();
  },
);

test("R24: who begins to listen while the file cannot be read is told once it can", () => {
  let [isBroken, told] = [true, 0];
  const version = (): number => {
    if (isBroken) throw new Error("disk I/O error");
    return 1;
  };
  const items: Pick<Items, "mark" | "runsSince"> = { mark: () => undefined, runsSince: () => new Set() };
  const arrivals = new PostPoller({ items: items as Items, version });
  arrivals.watchers.add(ONE, () => void told++);
  vi.advanceTimersByTime(LOOK_MS);
  expect(told).toBe(0);
  isBroken = false;
  vi.advanceTimersByTime(LOOK_MS);
  expect(told).toBe(1);
  arrivals.stop();
});

test("whoever waits keeps the process, whoever only listens does not, and who has left keeps nothing", () => {
  const items: Pick<Items, "mark" | "runsSince"> = { mark: () => undefined, runsSince: () => new Set() };
  const arrivals = new PostPoller({ items: items as Items, version: () => 1 });
  const refs: boolean[] = [];
  // One or the other: a fake that was spied on stays behind, for the tests of other files too.
  vi.useRealTimers();
  const set = vi.spyOn(globalThis, "setInterval").mockImplementation(() => {
    const timer: Pick<NodeJS.Timeout, "ref" | "unref"> = {
      ref: () => (refs.push(true), timer as NodeJS.Timeout),
      unref: () => (refs.push(false), timer as NodeJS.Timeout),
    };
    return timer as NodeJS.Timeout;
  });
  onTestFinished(() => set.mockRestore());
  const [one, two] = [arrivals.watchers.add(ONE, () => {}), arrivals.watchers.add(ONE, () => {})];
  expect(refs).toEqual([false]);
  one.awaits?.(true);
  one.awaits?.(true);
  two.awaits?.(true);
  expect(refs).toEqual([false, true]);
  one.awaits?.(false);
  expect(refs).toEqual([false, true]);
  two.stop();
  two.awaits?.(true);
  expect(refs).toEqual([false, true, false]);
  arrivals.stop();
});
