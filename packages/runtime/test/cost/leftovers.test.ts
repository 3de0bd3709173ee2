import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { type Agent, AgentId } from "@ravi/kernel";
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

test("a bare run makes one abort controller, however many calls it makes, and none where it makes no call", async () => {
  // Not counted: what the second run of a process makes and keeps.
  for (let n = 0; n < 2; n++) await new Runtime().run(worker(0), "go").result;
  let made = 0;
  class Counted extends AbortController {
    constructor() {
      super();
      made++;
    }
  }
  vi.stubGlobal("AbortController", Counted);
  const idle: Agent = {
    id: AgentId("idle"),
    run: async () => ({ status: "completed", output: "done", stopReason: "done" }),
  };
  expect((await new Runtime().run(idle, "go").result).output).toBe("done");
  expect(made).toBe(0);
  expect((await new Runtime().run(worker(5), "go").result).output).toBe("done");
  expect(made).toBe(1);
});

test("a runtime keeps nothing of a run that is over", async () => {
  const runtime = new Runtime();
  await runtime.run(worker(2), "go").result;
  expect(await runtime.list()).toEqual([]);
});
