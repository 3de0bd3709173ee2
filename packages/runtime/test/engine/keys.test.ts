import { describe, expect, test } from "vitest";
import {
  type Agent,
  defineTool,
  type FunctionContext,
  type LLMClient,
  type Pipeline,
  type RunContext,
  RunId,
  type Tool,
  type ToolLeaf,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, SqliteJournal } from "@ravi/runtime";
import { agent, ask, cut, done, turns } from "../support/helpers.ts";
import * as fc from "fast-check";
import { Keys } from "../../src/context/keys.ts";
import * as z from "zod";
import { temporaryDirectory } from "../journal/helpers/directory.ts";
import { said } from "../support/open-house.ts";

const RUN = RunId("r1");

test("R24: facts of many names are recorded each under a key of its own, and are read again by it", async () => {
  const names = Array.from({ length: 40 }, (_, n) => `fact ${n}`);
  let made = 0;
  const recording = agent("recording", async (ctx) => {
    const read: unknown[] = [];
    for (const round of [1, 2, 3])
      for (const name of names) read.push(await ctx.record(name, () => `${name}, ${round}: ${++made}`));
    return done(JSON.stringify([read, await ctx.waitFor("end")]));
  });
  const journal = new MemoryJournal();
  const runtime = new Runtime({ journal, agents: [recording] });
  const handle = runtime.run(recording, "", { runId: RUN });
  while (handle.status === "pending" || handle.status === "running") await turns();
  await runtime.close();
  const keys = journal.load(RUN).flatMap(({ key }) => (key.startsWith("record:") ? [key] : []));
  expect(new Set(keys).size).toBe(3 * names.length);
  expect(keys).toContain("record:fact 39#3");
  const again = new Runtime({ journal, agents: [recording] });
  await again.deliver(RUN, "end", "over");
  const [read, end] = JSON.parse((await again.resume(RUN).result).output) as [string[], string];
  expect([made, read.length, read.at(-1), end]).toEqual([120, 120, "fact 39, 3: 120", "over"]);
});

describe("R24: the keys of tool calls", () => {
  /** As simple as can be: how often each was asked for. */
  function counting(): (turn: number, index: number) => string {
    const taken = new Map<string, number>();
    return (turn, index) => {
      const place = `tool:${turn}:${index}`;
      const n = (taken.get(place) ?? 0) + 1;
      taken.set(place, n);
      return n === 1 ? place : `${place}#${n}`;
    };
  }

  test("R24: a place that hand-offs have left free is taken for the first time, in whatever batch of the turn", () => {
    const batch = fc.array(fc.boolean(), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(fc.array(batch, { maxLength: 4 }), { maxLength: 4 }), (all) => {
        const [keys, expected] = [new Keys(), counting()];
        for (const [turn, batches] of all.entries())
          for (const leaves of batches)
            for (const [index, isTool] of leaves.entries())
              if (isTool) expect(keys.place(turn, index)).toBe(expected(turn, index));
      }),
    );
  });

  test("R24: kinds and names are counted whatever they are called, and however many there are", () => {
    const text = fc.oneof(
      fc.constantFrom("", "a", "a:b", "__proto__", "constructor"),
      fc.string({ maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 80, size: "max" }), (asked) => {
        const keys = new Keys();
        const counts = new Map<string, number>();
        for (const [kind, name] of asked.filter((pair) => pair.join("") !== "")) {
          const what = `${kind}:${name}`;
          counts.set(what, (counts.get(what) ?? 0) + 1);
          expect(keys.next(kind, name)).toBe(`${what}#${counts.get(what)}`);
        }
      }),
    );
  });
});

const info = { provider: "x", model: "m" };

const model = { id: "m", info, generate: async () => said("fine") };

/** Runs it once, and again after a crash at each of its entries: it comes to the same each time, and is recorded the same. */
async function sameAfterEveryCrash(lead: Agent): Promise<readonly string[]> {
  const journal = new MemoryJournal();
  const first = await new Runtime({ journal }).run(lead, "", { runId: RUN }).result;
  expect(first.status).toBe("completed");
  const records = journal.load(RUN);
  const steps = (all: typeof records): unknown[] =>
    all
      .filter(({ key, phase, attempt }) => !key.startsWith("run:") && (phase !== "begin" || attempt === 1))
      .map(({ key, phase, body }) => [key, phase, body["fingerprint"]]);
  for (let at = 1; at < records.length; at++) {
    const left = cut(RUN, records.slice(0, at));
    const { status, output } = await new Runtime({ journal: left, agents: [lead] }).resume(RUN).result;
    expect({ at, status, output }).toEqual({ at, status: "completed", output: first.output });
    expect(steps(left.load(RUN))).toEqual(steps(records));
  }
  return records.map(({ key, phase }) => `${phase} ${key}`);
}

describe("keys", () => {
  test("R24: several batches in one turn have keys of their own, and are found again after a crash at any entry", async () => {
    const echo: Tool = defineTool({
      name: "echo",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: () => "echo",
    });
    const leaf = (id: string): ToolLeaf => ({
      kind: "tool",
      call: { id, name: "echo", arguments: "{}" },
      tool: echo,
    });
    const lead = agent("lead", async (ctx) => {
      for (const turn of ["a", "b"]) {
        await ctx.llm(model, ask(turn));
        await ctx.batch([leaf(`${turn}1`), leaf(`${turn}2`)]);
        await ctx.batch([leaf(`${turn}3`)]);
        await ctx.batch([leaf(`${turn}4`), leaf(`${turn}5`)]);
        await ctx.tool(leaf(`${turn}6`).call, echo);
      }
      return done("");
    });
    const entries = await sameAfterEveryCrash(lead);
    const begun = entries.filter((entry) => entry.startsWith("begin")).map((entry) => entry.slice(6));
    const turn = (n: number): string[] => [
      `llm:m#${n}`,
      `tool:${n}:0`,
      `tool:${n}:1`,
      `tool:${n}:0#2`,
      `tool:${n}:0#3`,
      `tool:${n}:1#2`,
      `tool:echo#${n}`,
    ];
    expect(begun).toEqual([...turn(1), ...turn(2)]);
  });

  test("R24: no two keys are the same, in whatever order kinds and names come", () => {
    const keys = new Keys();
    const made = [
      ["a", "b:c"],
      ["a:b", "c"],
      ["a", "b:c"],
      ["llm", "m"],
      ["tool", "m"],
      ["llm", "m"],
      ["llm", ""],
      ["", "m"],
      ["llm", "m"],
    ].map(([kind = "", name = ""]) => keys.next(kind, name));
    expect(new Set(made).size).toBe(made.length);
    expect(made).toEqual([
      "a:b:c#1",
      "a:b:c#2",
      "a:b:c#3",
      "llm:m#1",
      "tool:m#1",
      "llm:m#2",
      "llm:#1",
      ":m#1",
      "llm:m#3",
    ]);
  });
});

const JOURNALS = [
  ["no journal", () => undefined],
  ["a journal in memory", () => new MemoryJournal()],
  ["a journal in SQLite", () => SqliteJournal.open(temporaryDirectory())],
] as const;

describe.each(JOURNALS)("R24: with %s,", (_, open) => {
  /** What the agent was told, and how its run ended. */
  async function tried(act: (ctx: RunContext) => Promise<unknown>): Promise<readonly unknown[]> {
    const journal = open();
    const runtime = new Runtime(journal === undefined ? {} : { journal });
    let told: unknown;
    const curious = agent("curious", async (ctx) => {
      told = await act(ctx).then(String, String);
      return done(String(await ctx.record("later", () => "went on")));
    });
    const { status, output } = await runtime.run(curious, "").result;
    await journal?.close();
    return [told, status, output];
  }

  test.each(["", "a\nb", "a\0b", "\u007f"])(
    "a fact is not named %j, and the agent is told so",
    async (name) => {
      expect(await tried(async (ctx) => ctx.record(name, () => 1))).toEqual([
        expect.stringMatching(/ctx\.record name is .*; expected a name of 1 to 200 characters/s),
        "completed",
        "went on",
      ]);
    },
  );

  test.each(["", "a\nb", "a\0b", "\ud800"])(
    "nobody waits for %j, which nobody could answer",
    async (name) => {
      expect(await tried(async (ctx) => ctx.waitFor(name))).toEqual([
        expect.stringMatching(/waitFor is .*; expected a non-empty name of whole characters/s),
        "completed",
        "went on",
      ]);
    },
  );

  test("a model or a tool whose name cannot be recorded does not end the run", async () => {
    const named: LLMClient = {
      id: "a\nb",
      info: { provider: "p", model: "m" },
      generate: async () => said("hello"),
    };
    const tool: Tool = {
      ...defineTool({ name: "look", description: "", input: z.object({}), execute: () => "seen" }),
      name: "a\nb",
    };
    const call = { id: "1", name: "look", arguments: "{}" };
    for (const act of [
      async (ctx: RunContext) => (await ctx.llm(named, ask("x"))).message.content,
      async (ctx: RunContext) => (await ctx.tool(call, tool)).content,
    ])
      expect((await tried(act)).slice(1)).toEqual(["completed", "went on"]);
  });

  test.each(["", "a\nb", "\ud800"])("a layer asks nobody under the name %j", async (name) => {
    const journal = open();
    const layer: Pipeline<FunctionContext> = {
      isNoop: false,
      admit: async (__, gate) => void (await gate.require(name, "May it?")),
      run: async (__, core) => core(),
    };
    const runtime = new Runtime({
      pipelines: { function: layer },
      ...(journal !== undefined && { journal }),
    });
    const look = defineTool({ name: "look", description: "", input: z.object({}), execute: () => "seen" });
    const lead = agent("lead", async (ctx) =>
      done((await ctx.tool({ id: "1", name: "look", arguments: "{}" }, look)).content as string),
    );
    const handle = runtime.run(lead, "");
    await turns();
    handle.cancel("it asks");
    const { status, error } = await handle.result;
    await journal?.close();
    expect([status, error?.message]).toEqual(["failed", expect.stringMatching(/gate\.require is /)]);
  });
});
