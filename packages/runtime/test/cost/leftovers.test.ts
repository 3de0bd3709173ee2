import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { everything } from "./everything.ts";
import { worker } from "./worker.ts";

afterEach(() => void vi.unstubAllGlobals());

test("a run that is over leaves no listener on the signal it was given, and no timer", async () => {
  for (const options of [{}, everything(new MemoryJournal())]) {
    const clock = virtualClock();
    const { signal } = new AbortController();
    const runtime = new Runtime({ ...options, clock });
    const handle = runtime.run(worker(3), "go", { signal, executionBudget: { deadlineS: 60 } });
    expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
    expect((await handle.result).output).toBe("done");
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(clock.pending).toBe(0);
  }
});

test("a bare run makes no abort controller: nobody asked for a signal", async () => {
  let made = 0;
  class Counted extends AbortController {
    constructor() {
      super();
      made++;
    }
  }
  vi.stubGlobal("AbortController", Counted);
  expect((await new Runtime().run(worker(5), "go").result).output).toBe("done");
  expect(made).toBe(0);
  void new AbortController();
  expect(made).toBe(1);
});

test("a runtime keeps nothing of a run that is over", async () => {
  const runtime = new Runtime();
  await runtime.run(worker(2), "go").result;
  expect(await runtime.list()).toEqual([]);
});
