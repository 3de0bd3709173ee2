import { describe, expect, test } from "vitest";
import {
  defineTool,
  type Pipeline,
  type Pipelines,
  type FunctionContext,
  RunId,
  type Tool,
  type ToolLeaf,
} from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import * as z from "zod";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { World } from "./engine/world.ts";
import { agent, done, until } from "./support/helpers.ts";

const quick = defineTool({
  name: "quick",
  description: "",
  input: z.object({}),
  idempotent: true,
  execute: () => "soon",
});
const call = (id: string, args = "{}") => ({ id, name: "quick", arguments: args });

function telling(told: string[], leaf: Pick<ToolLeaf, "call" | "tool">): ToolLeaf {
  return {
    kind: "tool",
    ...leaf,
    onResult: ({ content }) => told.push(`${leaf.call.id} ${String(content)}`),
  };
}

describe("what each call of a batch gave is told as soon as it is there", () => {
  test.each([
    ["without a journal", () => ({})],
    ["on a journal", () => ({ journal: new MemoryJournal() })],
  ])("%s, while another is still at work", async (_, ports) => {
    const told: string[] = [];
    const gate = Promise.withResolvers<string>();
    const slow = defineTool({ ...quick, name: "slow", execute: () => gate.promise });
    const worker = agent("worker", async (ctx) => {
      await ctx.batch([
        telling(told, { call: call("1"), tool: slow }),
        telling(told, { call: call("2"), tool: quick }),
        telling(told, { call: call("3", "[]"), tool: quick }),
      ]);
      return done("ok");
    });
    const { result } = new Runtime(ports()).run(worker, "");
    await until(() => told.length === 2);
    expect(told.toSorted()).toEqual(["2 soon", expect.stringMatching(/^3 error: invalid arguments for/)]);
    gate.resolve("late");
    expect((await result).status).toBe("completed");
    expect(told[2]).toBe("1 late");
  });

  test("after the layers around it, and again from the record", async () => {
    const told: string[] = [];
    const redact: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: () => {},
      async run(context, core) {
        await core();
        context.result = { content: "redacted", isError: false };
      },
    };
    const worker = {
      ...agent("worker", async (ctx) => {
        await ctx.batch([telling(told, { call: call("1"), tool: quick })]);
        await ctx.waitFor("go on");
        return done("ok");
      }),
      pipelines: { function: redact },
    };
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, agents: [worker] });
    const handle = first.run(worker, "", { runId: "r" });
    await until(() => journal.load(RunId("r")).some(({ phase }) => phase === "end"));
    await first.close();
    await handle.result;
    expect(told).toEqual(["1 redacted"]);
    const second = new Runtime({ journal, agents: [worker] });
    await second.deliver("r", "go on", true);
    expect((await second.resume("r").result).status).toBe("completed");
    expect(told).toEqual(["1 redacted", "1 redacted"]);
  });

  test("once, also by an engine that reads back what it wrote", async () => {
    const told: string[] = [];
    const worker = agent("worker", async (ctx) => {
      await ctx.batch([telling(told, { call: call("1"), tool: quick })]);
      return done("ok");
    });
    await new World({ clock: { ...virtualClock({ now: 0 }) } }).run(worker, "");
    expect(told).toEqual(["1 soon"]);
  });
});

test.each([
  ["without a journal", () => ({})],
  ["on a journal", () => ({ journal: new MemoryJournal() })],
])("%s a leaf's own validator checks a raw JSON Schema before the runtime's", async (_, ports) => {
  const raw: Tool = { name: "raw", description: "", input: { type: "object" }, execute: () => "ran" };
  const leaf = { kind: "tool", call: { id: "1", name: "raw", arguments: "{}" }, tool: raw } as const;
  const worker = agent("worker", async (ctx) => {
    const picky = () => [{ message: "not today" }];
    const outcomes = await ctx.batch([{ ...leaf, validator: () => [] }, leaf, { ...leaf, validator: picky }]);
    return done(outcomes.map((one) => ("result" in one ? one.result.content : one.error.message)).join("\n"));
  });
  const refusals = [
    /^ran\ntool raw: input .* a Standard Schema.*\nerror: invalid arguments for raw: not today$/,
    /^ran\nran\nerror: invalid arguments for raw: not today$/,
  ] as const;
  expect((await new Runtime(ports()).run(worker, "").result).output).toMatch(refusals[0]);
  const told = await new Runtime({ ...ports(), validator: () => [] }).run(worker, "").result;
  expect(told.output).toMatch(refusals[1]);
});

describe("what a tool returned is the same after a restart", () => {
  const returned = { n: 7, tags: ["a"] };
  const truncate: Pipeline<FunctionContext> = {
    isNoop: false,
    admit: () => {},
    async run(context, core) {
      await core();
      if (context.result !== undefined) context.result = { ...context.result, content: "{}" };
    },
  };

  test.each([
    ["a text", "soon", {}, "soon"],
    ["plain JSON", returned, {}, returned],
    [
      "plain JSON, through layers",
      returned,
      { function: { ...truncate, run: (_, core) => core() } },
      returned,
    ],
    ["what is no plain JSON is not there", new Date(0), {}, undefined],
    ["nor what a layer has told otherwise", returned, { function: truncate }, undefined],
  ] satisfies readonly (readonly [string, unknown, Pipelines, unknown])[])(
    "%s",
    async (_, value, pipelines, again) => {
      const seen: unknown[] = [];
      const giver = defineTool({ ...quick, name: "giver", execute: () => value });
      const worker = agent("worker", async (ctx) => {
        seen.push((await ctx.tool({ id: "1", name: "giver", arguments: "{}" }, giver)).value);
        await ctx.waitFor("go on");
        return done("ok");
      });
      const journal = new MemoryJournal();
      const first = new Runtime({ journal, pipelines });
      const { result } = first.run(worker, "", { runId: "r" });
      await until(() => seen.length === 1);
      await first.close();
      await result;
      const second = new Runtime({ journal, pipelines, agents: [worker] });
      await second.deliver("r", "go on", true);
      expect((await second.resume("r").result).status).toBe("completed");
      expect(seen).toEqual([value, again]);
    },
  );
});
