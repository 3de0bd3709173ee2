import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  defineTool,
  ExecId,
  type FunctionContext,
  type JournalEntry,
  type JournalRecord,
  type JsonObject,
  type LLMClient,
  type ModelResponse,
  type Pipeline,
  RunId,
} from "@ravi/kernel";
import { planLoop, toolLoop } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import * as z from "zod";

// The journal in memory keeps what the runtime gives it as it is, without writing it as text. So nobody else may hold a part of it:
// whatever a model, a tool, a listener or a caller does with its own objects afterwards, the record stays.

const RUN = RunId("r1");

/** Makes every object that it can reach say something else. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const inner of Object.values(value)) spoil(inner);
  if (Object.isFrozen(value)) return;
  for (const key of Object.keys(value)) {
    const held: unknown = Reflect.get(value, key);
    if (typeof held !== "object" || held === null) Reflect.set(value, key, "spoilt");
  }
}

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === "function" ? value.bind(target) : value;
}

interface Given {
  readonly answers: readonly ModelResponse[];
  /** Everything that others were handed. */
  readonly seen: unknown[];
}

function agentFor({ answers, seen }: Given): Agent {
  const echo = defineTool({
    name: "echo",
    description: "gives it back",
    input: z.object({ n: z.number() }),
    idempotent: true,
    execute: ({ n }) => {
      const given = { n, list: [n] };
      seen.push(given);
      return given;
    },
  });
  let calls = 0;
  const model: LLMClient = {
    id: "fake",
    info: { provider: "fake", model: "fake" },
    generate: async () => {
      const answer = answers[calls++];
      if (answer === undefined) throw new Error("asked too often");
      seen.push(answer);
      return answer;
    },
  };
  const plan = planLoop("a", { name: "a", model, tools: [echo], maxSteps: 5 });
  return { id: AgentId("a"), run: (ctx, inbox) => toolLoop(plan, ctx, inbox) };
}

async function records(
  answers: readonly ModelResponse[],
  isSpoilt: boolean,
): Promise<readonly JournalRecord[]> {
  const journal = new MemoryJournal({ clock: { now: () => 1 } });
  const seen: unknown[] = [];
  const runtime = new Runtime({ journal, clock: { now: () => 1 } });
  const metadata = { nested: { deep: "said" } };
  const result = await runtime.run(agentFor({ answers, seen }), "go", {
    runId: RUN,
    sessionId: "s",
    metadata,
    onEvent: (event) => void seen.push(event),
  }).result;
  expect(result.status).toBe("completed");
  if (isSpoilt) for (const each of [...seen, result]) spoil(each);
  return journal.load(RUN);
}

const usage = { inputTokens: 3, outputTokens: 4, cachedInputTokens: 1 };

const plain = (): ModelResponse => ({
  message: { role: "assistant", content: "done" },
  finishReason: "stop",
  usage: { ...usage },
});

/** Made anew for each run, since they are spoilt. */
const cases: readonly [string, () => ModelResponse[]][] = [
  [
    "text and tool calls",
    () => [
      {
        message: {
          role: "assistant",
          content: "",
          toolCalls: [{ id: "c1", name: "echo", arguments: '{"n":1}' }],
        },
        finishReason: "toolCalls",
        usage: { ...usage },
      },
      {
        message: { role: "assistant", content: "done" },
        finishReason: "stop",
        usage: { ...usage },
        id: "m2",
      },
    ],
  ],
  [
    "parts, and calls with something sealed",
    () => [
      {
        message: {
          role: "assistant",
          content: [{ type: "reasoning", text: "hm", opaque: { provider: "p", data: "d" } }],
          toolCalls: [{ id: "c1", name: "echo", arguments: '{"n":1}', opaque: { provider: "p", data: "d" } }],
        },
        finishReason: "toolCalls",
        usage: { ...usage },
      },
      { message: { role: "assistant", content: [{ type: "text", text: "done" }] }, finishReason: "stop" },
    ],
  ],
  ["a field that nobody knows", () => [Object.assign(plain(), { raw: { inner: ["kept"] } })]],
  [
    "an answer that says itself what it is as JSON",
    () => [
      Object.assign(plain(), {
        toJSON: () => ({ message: { role: "assistant", content: "done, in JSON" }, finishReason: "stop" }),
      }),
    ],
  ],
];

describe("what the journal in memory keeps", () => {
  test.each(cases)("R24: %s stay as they were, whatever becomes of the originals", async (_, answers) => {
    const untouched = await records(answers(), false);
    expect(untouched.length).toBeGreaterThanOrEqual(4);
    expect(await records(answers(), true)).toEqual(untouched);
    expect(JSON.stringify(untouched)).not.toContain("spoilt");
  });

  test("R24: what was loaded is a copy too", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal });
    const [, answers] = cases[0] ?? [];
    await runtime.run(agentFor({ answers: answers?.() ?? [], seen: [] }), "go", { runId: RUN }).result;
    const before = JSON.stringify(journal.load(RUN));
    spoil(journal.load(RUN));
    expect(JSON.stringify(journal.load(RUN))).toBe(before);
  });

  test("R24: a body that was put in the place of the runtime's is copied", async () => {
    const journal = new MemoryJournal();
    const cache = { note: "now" };
    const wrapped = new Proxy(journal, {
      get(target, name) {
        if (name !== "append") return bound(target, name);
        return (runId: RunId, epoch: number, entries: readonly JournalEntry[]) =>
          target.append(
            runId,
            epoch,
            entries.map((entry) => ({ ...entry, body: { ...entry.body, cache } })),
          );
      },
    });
    const [, answers] = cases[0] ?? [];
    await new Runtime({ journal: wrapped }).run(agentFor({ answers: answers?.() ?? [], seen: [] }), "go", {
      runId: RUN,
    }).result;
    cache.note = "spoilt";
    expect(journal.load(RUN).length).toBeGreaterThanOrEqual(4);
    expect(JSON.stringify(journal.load(RUN))).not.toContain("spoilt");
  });

  test("R24: what is appended together is copied too, one by one", () => {
    const journal = new MemoryJournal();
    const { epoch } = journal.claim(RUN, "me", 1_000) ?? { epoch: 0 };
    const [given, held] = [{ n: 1 }, { n: 2 }];
    const entry = (key: string, body: JsonObject) =>
      ({ exec: ExecId(RUN), key, attempt: 1, phase: "note", at: 1, body }) as const;
    journal.append(RUN, epoch, [{ ...entry("a#1", given), given }, entry("b#1", held)]);
    held.n = 3;
    expect(journal.load(RUN).map(({ body }) => body)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("R24: what an agent waits for, what a tool gives in parts, and what a layer sets stay as they were", async () => {
    const journal = new MemoryJournal();
    const held: unknown[] = [];
    const parts = defineTool({
      name: "parts",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: () => "plain",
    });
    const layer: Pipeline<FunctionContext> = {
      isNoop: false,
      admit() {},
      async run(context, core) {
        await core();
        const content = [{ type: "text" as const, text: "said" }];
        held.push(content);
        context.result = { content, isError: false };
        if (context.callId !== "2") return;
        // What a layer that was not compiled may set.
        const flag = { is: "kept" };
        held.push(flag);
        context.result = { content: "said", isError: false };
        Reflect.set(context.result, "isError", flag);
      },
    };
    const lead: Agent = {
      id: AgentId("lead"),
      async run(ctx) {
        for (const id of ["1", "2"]) await ctx.tool({ id, name: "parts", arguments: "{}" }, parts);
        held.push(await ctx.waitFor("answer"));
        for (const each of held) spoil(each);
        return { status: "completed", output: "", stopReason: "done" };
      },
    };
    const runtime = new Runtime({ journal, pipelines: { function: layer } });
    const run = runtime.run(lead, "", { runId: RUN });
    await expect.poll(() => run.status).toBe("suspended");
    await runtime.deliver(RUN, "answer", { deep: { er: "kept" } });
    expect((await run.result).status).toBe("completed");
    expect(held).toHaveLength(4);
    expect(JSON.stringify(held)).toContain("spoilt");
    expect(JSON.stringify(journal.load(RUN))).not.toContain("spoilt");
  });

  test.each<[string, unknown]>([
    ["text", undefined],
    ["structured", { deep: { er: "kept" } }],
  ])("R24: the outcome of a hire stays as it was: %s", async (_, structured) => {
    const journal = new MemoryJournal();
    const child: Agent = {
      id: AgentId("child"),
      run: async () => ({
        status: "partial",
        output: "said",
        stopReason: "steps",
        problem: "late",
        structured,
      }),
    };
    const lead: Agent = {
      id: AgentId("lead"),
      async run(ctx) {
        const outcome = await ctx.hire({ agent: child, input: "" });
        spoil(outcome);
        expect(JSON.stringify(outcome)).toContain("spoilt");
        return { status: "completed", output: "", stopReason: "done" };
      },
    };
    const result = await new Runtime({ journal }).run(lead, "", { runId: RUN }).result;
    expect(result.status).toBe("completed");
    spoil(result);
    const ends = journal.load(RUN).filter(({ phase }) => phase === "end");
    expect(ends).toMatchObject([{ body: { result: { output: "said", problem: "late" } } }]);
    expect(JSON.stringify(ends)).not.toContain("spoilt");
  });

  test("R24: it is the same that a file would hold: what is undefined is not there", async () => {
    const [, answers] = cases[0] ?? [];
    for (const { body } of await records(answers?.() ?? [], false)) {
      expect(body).toEqual(JSON.parse(JSON.stringify(body)));
      for (const value of Object.values(body)) expect(value).not.toBeUndefined();
    }
  });
});
