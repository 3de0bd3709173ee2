import { describe, expect, test } from "vitest";
import { scriptedModel, virtualClock } from "@ravi/testing";
import {
  type Agent,
  AgentId,
  type AgentRunContext,
  type Journal,
  type Pipeline,
  type RestartPolicy,
  RunId,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done, turns, until, within } from "./support/helpers.ts";

/** A journal whose claim is given when it is told to. */
function slowToClaim(granted: Promise<void>): Journal {
  const memory = new MemoryJournal();
  const claim: Journal["claim"] = async (...asked) => {
    await granted;
    return memory.claim(...asked);
  };
  return Object.assign(Object.create(memory) as MemoryJournal, { claim });
}

function layers(admit: () => Promise<void>): Pipeline<AgentRunContext> {
  return { isNoop: false, admit, run: (_, core) => core() };
}

const model = scriptedModel(() => "paid for");

const worker = agent("worker", async (ctx, inbox) => {
  if (inbox.hasMail?.() === true) return done(String((await inbox.take())?.content));
  return done(String((await ctx.llm(model, ask("?"))).message.content));
});

describe("what is said to a run before it begins", () => {
  test("R24: that it is cancelled, while its journal is claimed: nothing is paid for", async () => {
    const granted = Promise.withResolvers<void>();
    const runtime = new Runtime({ journal: slowToClaim(granted.promise) });
    const { result } = runtime.run(worker, "", { runId: "r" });
    await runtime.cancel("r", "changed my mind");
    granted.resolve();
    expect(await result).toMatchObject({ status: "cancelled", usage: { inputTokens: 0, outputTokens: 0 } });
  });

  test("R24: a message, while a layer looks at its input", async () => {
    const looked = Promise.withResolvers<void>();
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, pipelines: { agent: layers(() => looked.promise) } });
    const { result } = runtime.run(worker, "", { runId: "r" });
    await runtime.send("r", "one more thing");
    looked.resolve();
    expect((await result).output).toBe("one more thing");
  });
});

describe("T4: a layer that never lets a run begin", () => {
  const never = { agent: layers(() => new Promise(() => {})) };

  test.each([
    ["without a journal", undefined],
    ["on a journal", new MemoryJournal()],
  ])("does not outlast its end: cancelled, out of time, closed (%s)", async (_, journal) => {
    const clock = virtualClock({ now: 0 });
    const runtime = new Runtime({ clock, pipelines: never, ...(journal && { journal }) });
    const cancelled = runtime.run(worker, "", { runId: "c" });
    const late = runtime.run(worker, "", { runId: "l", executionBudget: { deadlineS: 5 } });
    const closed = runtime.run(worker, "", { runId: "o" });
    const results = Promise.allSettled([cancelled.result, late.result, closed.result]);
    await until(() => late.status === "running");
    cancelled.cancel("stop");
    await clock.advance(100);
    expect(await within(cancelled.result.catch(String))).toMatch("stop");
    await clock.advance(5_000);
    expect(await within(late.result.catch(String))).toMatch("deadline");
    const closing = runtime.close();
    await clock.advance(100);
    expect(await within(closing)).not.toBe("pending");
    expect(await within(results)).toMatchObject([
      { reason: { code: "CANCELLED" } },
      { reason: { code: "DEADLINE_EXCEEDED" } },
      { reason: { reason: "the runtime was closed" } },
    ]);
    expect(clock.pending).toBe(0);
    expect(journal?.load(RunId("l")) ?? []).toEqual([]);
  });

  test("does not outlast its end where that was there first", async () => {
    const clock = virtualClock({ now: 0 });
    const runtime = new Runtime({ clock, pipelines: never, journal: new MemoryJournal() });
    const { result } = runtime.run(worker, "");
    const closing = runtime.close();
    const ended = result.catch(String);
    await turns();
    await clock.advance(100);
    expect(await within(ended)).toMatch("the runtime was closed");
    expect(await within(closing)).not.toBe("pending");
  });

  test("and one that ends when it is told to is not given up: the run is partial", async () => {
    const clock = virtualClock({ now: 0 });
    const polite: Pipeline<AgentRunContext> = {
      isNoop: false,
      admit: ({ signal }) => new Promise((go) => signal.addEventListener("abort", () => go())),
      run: (_, core) => core(),
    };
    const runtime = new Runtime({ clock, pipelines: { agent: polite } });
    const { result } = runtime.run(worker, "", { executionBudget: { deadlineS: 5 } });
    await clock.advance(6_000);
    expect(await within(result)).toMatchObject({ status: "partial", stopReason: "deadline" });
    expect(clock.pending).toBe(0);
  });
});

test("R17: a run that waits for its next go after a crash is cancelled at once", async () => {
  const clock = virtualClock();
  let goes = 0;
  const crashing = agent("crashing", async () => {
    goes++;
    throw new Error("a bug");
  });
  const restart: RestartPolicy = { shouldRetry: () => true, delayMs: () => 600_000, reset() {} };
  const runtime = new Runtime({ clock, journal: new MemoryJournal(), restart });
  const { result } = runtime.run(crashing, "", { runId: "r" });
  await until(() => goes === 1 && clock.pending > 0);
  await runtime.cancel("r", "enough");
  expect(await within(result)).toMatchObject({ status: "cancelled", error: { reason: "enough" } });
});

function fail(message: string): never {
  throw new TypeError(message);
}

test("R24: ids that are not unique are refused while a run has them, also where nobody gave them", async () => {
  const runtime = new Runtime({ ids: { uuid: () => "same", random: () => 0 } });
  const waits = agent("waits", async (ctx) => done(String(await ctx.waitFor("x"))));
  const run = runtime.run(waits, "");
  expect(() => runtime.run(waits, "")).toThrow(/an id that no running run here has/);
  await runtime.deliver("same", "x", "y");
  expect((await run.result).output).toBe("y");
});

test("T4: a run that fails before its agent begins no longer watches its journal", async () => {
  const journal = new MemoryJournal();
  let watching = 0;
  const watch = journal.watch.bind(journal);
  journal.watch = (runId, listener) => {
    const given = watch(runId, listener);
    watching++;
    const stop = (): void => {
      watching--;
      given.stop();
    };
    return { coversAll: given.coversAll, stop };
  };
  let isBroken = false;
  const broken: Agent = {
    id: AgentId("broken"),
    run: async () => done(""),
    get defaults() {
      return isBroken ? fail("no defaults") : undefined;
    },
  };
  const run = new Runtime({ journal }).run(broken, "");
  isBroken = true;
  await expect(run.result).rejects.toThrow("no defaults");
  expect(watching).toBe(0);
});
