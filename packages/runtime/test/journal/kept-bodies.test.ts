import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  defineTool,
  type JournalRecord,
  type LLMClient,
  type ModelResponse,
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

  test("R24: it is the same that a file would hold: what is undefined is not there", async () => {
    const [, answers] = cases[0] ?? [];
    for (const { body } of await records(answers?.() ?? [], false)) {
      expect(body).toEqual(JSON.parse(JSON.stringify(body)));
      for (const value of Object.values(body)) expect(value).not.toBeUndefined();
    }
  });
});
