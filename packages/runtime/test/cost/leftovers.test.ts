import { getEventListeners } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { type Agent, AgentId, type Clock } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
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

test("the hires of a batch share one timer for their time limits, and a lead sets none when they are over", async () => {
  const child: Agent = {
    id: AgentId("child"),
    run: async () => ({ status: "completed", output: "", stopReason: "done" }),
  };
  const lead = (hires: number): Agent => ({
    id: AgentId("lead"),
    async run(ctx) {
      await ctx.batch(
        Array.from(
          { length: hires },
          () => ({ kind: "hire", agent: child, input: "", timeoutS: 60 }) as const,
        ),
      );
      return { status: "completed", output: "done", stopReason: "done" };
    },
  });
  const timersOf = async (options: RuntimeOptions, hires: number): Promise<number> => {
    const clock = virtualClock();
    let timers = 0;
    const counted: Clock = {
      now: () => clock.now(),
      setTimer(callback, delayMs) {
        timers++;
        return clock.setTimer(callback, delayMs);
      },
    };
    const runtime = new Runtime({ ...options, clock: counted });
    expect((await runtime.run(lead(hires), "").result).output).toBe("done");
    expect(clock.pending).toBe(0);
    return timers;
  };
  for (const options of [() => ({}), () => everything(new MemoryJournal())]) {
    const without = await timersOf(options(), 0);
    expect(await timersOf(options(), 8)).toBe(without + 1);
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
