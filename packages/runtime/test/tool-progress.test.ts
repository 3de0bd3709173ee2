import { describe, expect, test } from "vitest";
import { type Agent, defineTool, type RunEvent, type Tool, type ToolContext } from "@ravi/kernel";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import { everything } from "./cost/everything.ts";
import { agent, done, turns, until } from "./support/helpers.ts";

// What a tool reports while it works, on the short way of a bare run and on the usual one.

const HOUSES: readonly (readonly [string, () => RuntimeOptions])[] = [
  ["with nothing given", () => ({})],
  ["with everything on", () => everything(new MemoryJournal())],
];

type Execute = (context: ToolContext) => unknown;

function working(execute: Execute, more: Partial<Tool> = {}): Tool {
  const input = z.object({});
  return defineTool({ name: "work", description: "", input, execute: (_, ctx) => execute(ctx), ...more });
}

/** Makes the calls `a`, `b`, … to the tool at once, and gives what they came to. */
function caller(tool: Tool, calls = 1): Agent {
  return agent("caller", async (ctx) => {
    const ids = ["a", "b", "c"].slice(0, calls);
    const leaves = ids.map((id) => {
      const call = { id, name: tool.name, arguments: "{}" };
      return { kind: "tool", call, tool } as const;
    });
    const outcomes = await ctx.batch(leaves);
    return done(
      outcomes.map((outcome) => ("result" in outcome ? outcome.result.content : outcome.status)).join("; "),
    );
  });
}

function reported(events: readonly RunEvent[]): unknown[] {
  return events.flatMap(({ event }) => (event.type === "progress" ? [event] : []));
}

describe.each(HOUSES)("a tool's progress, %s", (_, options) => {
  async function ran(tool: Tool, calls?: number) {
    const heard: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void heard.push(event);
    const result = await new Runtime(options()).run(caller(tool, calls), "", { onEvent }).result;
    return { result, heard };
  }

  test("J3: is an event of its agent, with the id of its call", async () => {
    const { heard, result } = await ran(
      working(({ progress }) => {
        progress?.("begun");
        progress?.("rows", { done: 1, of: 2 });
        return "ok";
      }),
      2,
    );
    expect(result.output).toBe("ok; ok");
    expect(reported(heard)).toEqual(
      ["a", "b"].flatMap((callId) => [
        { type: "progress", name: "begun", data: null, callId },
        { type: "progress", name: "rows", data: { done: 1, of: 2 }, callId },
      ]),
    );
    expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_event, at) => at + 1));
    expect(new Set(heard.map(({ agentId, execId }) => `${agentId} ${execId}`)).size).toBe(1);
  });

  test("J3: reaches somebody who begins to read while the tool works", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let works = false;
    const tool = working(async ({ progress }) => {
      works = true;
      await promise;
      progress?.("half");
      return "ok";
    });
    const handle = new Runtime(options()).run(caller(tool), "");
    await until(() => works);
    const read = Array.fromAsync(handle.events());
    resolve();
    expect(reported(await read)).toMatchObject([{ name: "half", callId: "a" }]);
  });

  test("J3: says what it said then, whatever the tool does with its data afterwards", async () => {
    const state = { done: 0 };
    const tool = working(({ progress }) => {
      for (; state.done < 3; state.done++) progress?.("rows", state);
      return "ok";
    });
    expect(reported((await ran(tool)).heard)).toMatchObject([0, 1, 2].map((n) => ({ data: { done: n } })));
  });

  test("J3: a share of nothing is null, as JSON has it, and fails no tool", async () => {
    const tool = working(({ progress }) => {
      progress?.("share", { of: 0, share: 0 / 0, at: undefined as never });
      return "ok";
    });
    const { heard, result } = await ran(tool);
    expect(result.output).toBe("ok");
    expect(reported(heard)).toMatchObject([{ data: { of: 0, share: null } }]);
  });

  test.each<[string, Execute, RegExp]>([
    ["a bigint", ({ progress }) => progress?.("x", { id: 7n } as never), /progress\.data .*JSON.*BigInt/],
    ["no name", ({ progress }) => progress?.("", 1), /progress\.name is ""; expected a non-empty string/],
    ["an object alone", ({ progress }) => progress?.({ done: 1 } as never), /progress\.name .*non-empty/],
    [
      "a circle",
      ({ progress }) => {
        const circle: Record<string, unknown> = {};
        circle["self"] = circle;
        progress?.("x", circle as never);
      },
      /progress\.data .*JSON.*circular/,
    ],
  ])("R18: %s is the tool's error, observed or not", async (_name, execute, problem) => {
    const { heard, result } = await ran(working(execute));
    expect(result.output).toMatch(problem);
    expect(reported(heard)).toEqual([]);
    const unseen = await new Runtime(options()).run(caller(working(execute)), "").result;
    expect(unseen.output).toBe(result.output);
  });

  test("J3: of a tool that goes on after its agent's end nothing more is heard, neither in the run nor after it", async () => {
    let kept: ToolContext | undefined;
    const keeper = working((context) => {
      kept = context;
      return "kept";
    });
    const heard: RunEvent[] = [];
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: caller(keeper), input: "" });
      kept?.progress?.("late");
      return done("");
    });
    const onEvent = (event: RunEvent): void => void heard.push(event);
    await new Runtime({ ...options(), headcount: undefined }).run(lead, "", { onEvent }).result;
    expect(kept?.progress).toBeTypeOf("function");
    kept?.progress?.("later");
    expect(reported(heard)).toEqual([]);
    expect(heard.at(-1)).toMatchObject({ agentId: "lead", event: { type: "completed" } });
  });

  test("J3: of a tool that nobody waits for since its run was cancelled, nothing more is heard", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const clock = virtualClock();
    let works = false;
    let isTold = false;
    const deaf = working(async ({ progress }) => {
      works = true;
      await promise;
      progress?.("late");
      isTold = true;
      return "ok";
    });
    const heard: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void heard.push(event);
    const handle = new Runtime({ ...options(), clock }).run(caller(deaf), "", { onEvent });
    await until(() => works);
    handle.cancel("enough");
    await clock.runAll();
    expect((await handle.result).status).toBe("cancelled");
    resolve();
    await until(() => isTold);
    expect(reported(heard)).toEqual([]);
  });

  test("J3: of a call that took too long nothing more is heard, although its agent goes on", async () => {
    const clock = virtualClock();
    const { promise, resolve } = Promise.withResolvers<void>();
    let isTold = false;
    const slow = working(
      async ({ progress }) => {
        progress?.("begun");
        await promise;
        progress?.("late");
        isTold = true;
      },
      { timeoutS: 5 },
    );
    const patient = agent("patient", async (ctx) => {
      const { content } = await ctx.tool({ id: "a", name: "work", arguments: "{}" }, slow);
      await ctx.waitFor("on");
      return done(String(content));
    });
    const heard: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void heard.push(event);
    const runtime = new Runtime({ ...options(), clock });
    const handle = runtime.run(patient, "", { onEvent });
    await until(() => reported(heard).length > 0);
    await clock.advance(5_000);
    resolve();
    await until(() => isTold);
    await runtime.deliver(handle.runId, "on", true);
    expect((await handle.result).output).toContain("took longer than 5 s");
    expect(reported(heard)).toMatchObject([{ name: "begun" }]);
  });

  test("J3: of a call that took too long nothing is heard when its run is cancelled later, either", async () => {
    const clock = virtualClock();
    const [late, ending] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isTold = false;
    const slow = working(
      async ({ progress }) => {
        await late.promise;
        progress?.("late");
        isTold = true;
      },
      { timeoutS: 5 },
    );
    let isWaiting = false;
    const tidy = agent("tidy", async (ctx) => {
      await ctx.tool({ id: "a", name: "work", arguments: "{}" }, slow);
      isWaiting = true;
      try {
        await ctx.waitFor("on");
      } finally {
        await ending.promise;
      }
      return done("");
    });
    const heard: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void heard.push(event);
    const handle = new Runtime({ ...options(), clock }).run(tidy, "", { onEvent });
    await turns();
    await clock.advance(5_000);
    await until(() => isWaiting);
    handle.cancel("enough");
    await turns();
    late.resolve();
    await until(() => isTold);
    ending.resolve();
    expect((await handle.result).status).toBe("cancelled");
    expect(reported(heard)).toEqual([]);
  });

  test("R9: what a tool says while it stops is heard", async () => {
    let works = false;
    const tool = working(async ({ progress, signal }) => {
      works = true;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      progress?.("stopped at", 17);
    });
    const heard: RunEvent[] = [];
    const onEvent = (event: RunEvent): void => void heard.push(event);
    const handle = new Runtime(options()).run(caller(tool), "", { onEvent });
    await until(() => works);
    handle.cancel("enough");
    expect((await handle.result).status).toBe("cancelled");
    expect(reported(heard)).toMatchObject([{ name: "stopped at", data: 17 }]);
  });
});

test("R24: a call that is on record reports nothing again, and one that was stopped reports to its own run only", async () => {
  const journal = new MemoryJournal();
  const { promise, resolve } = Promise.withResolvers<void>();
  let works = 0;
  const quick = working(({ progress }) => progress?.("quick"), { name: "quick" });
  const slow = working(
    async ({ progress }) => {
      works++;
      if (works === 1) await promise;
      progress?.(`slow ${works}`);
      return "ok";
    },
    { name: "slow", idempotent: true },
  );
  const worker = agent("worker", async (ctx) => {
    await ctx.tool({ id: "q", name: "quick", arguments: "{}" }, quick);
    await ctx.tool({ id: "s", name: "slow", arguments: "{}" }, slow);
    return done("");
  });
  const [before, after]: RunEvent[][] = [[], []];
  const first = new Runtime({ journal });
  const handle = first.run(worker, "", { runId: "r", onEvent: (event) => void before?.push(event) });
  await until(() => works === 1);
  await first.close();
  expect((await handle.result).status).toBe("suspended");
  const second = new Runtime({ journal, agents: [worker] });
  const resumed = second.resume("r", { onEvent: (event) => void after?.push(event) });
  resolve();
  expect((await resumed.result).status).toBe("completed");
  await turns();
  expect(reported(before ?? [])).toMatchObject([{ name: "quick", callId: "q" }]);
  expect(reported(after ?? [])).toMatchObject([{ name: "slow 2", callId: "s" }]);
});
