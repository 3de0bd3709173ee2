import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { type Agent, defineTool, type LLMClient, RunId } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal } from "@ravi/runtime";
import { RetryPolicy } from "@ravi/supervision";
import { cutJournal } from "../../src/cut-journal.ts";
import { governed, hands } from "../../src/leading.ts";

const RUNS = process.env["RAVI_LONG"] ? 3_000 : 100;

/** One agent: what it and all below it may spend, whether it fails now and then, and whom it hires. */
interface Spender {
  readonly maxTurns: number | null;
  readonly maxCostUsd: number | null;
  readonly fails: boolean;
  readonly team: readonly Spender[];
}

const { spender } = fc.letrec<{ spender: Spender }>((tie) => ({
  spender: fc.record({
    maxTurns: fc.option(fc.integer({ min: 1, max: 8 })),
    maxCostUsd: fc.option(fc.constantFrom(0.0005, 0.002, 0.006)),
    fails: fc.boolean(),
    team: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant([]),
      fc.array(tie("spender"), { minLength: 1, maxLength: 4 }),
    ),
  }),
}));

const look = defineTool({
  name: "look",
  description: "",
  input: z.object({ n: z.number() }),
  idempotent: true,
  execute: ({ n }) => `seen ${n}`,
});

/** What a provider was asked for and wants to be paid, by who asked. Its own book, kept beside ours. */
type Bill = { readonly who: string; readonly nanos: number }[];

/** Never done by itself: only a rule ends it. It takes all that it was allowed to write. */
function greedy(who: string, bill: Bill, answer: (call: number) => ReturnType<typeof hands>): LLMClient {
  let call = 0;
  return {
    id: `model-${who}`,
    info: { provider: "test", model: "fixed", maxOutputTokens: 100 },
    async generate({ messages, tools, maxOutputTokens = 100 }) {
      const inputTokens = Math.ceil(JSON.stringify(messages).length / 40);
      const parts = answer(++call);
      bill.push({ who, nanos: (inputTokens + maxOutputTokens) * 1_000 });
      // So that those who work at once really do.
      await new Promise((resolve) => setImmediate(resolve));
      const calls = typeof parts === "object" && "toolCalls" in parts ? (parts.toolCalls ?? []) : [];
      const toolCalls = calls.map(({ name, arguments: args }, n) => ({
        id: `${call}_${n}`,
        name,
        arguments: JSON.stringify(args ?? {}),
      }));
      return {
        message: { role: "assistant", content: "hm", ...(tools !== undefined && { toolCalls }) },
        finishReason: tools === undefined ? "stop" : "toolCalls",
        usage: { inputTokens, outputTokens: maxOutputTokens },
      };
    },
  };
}

function build(name: string, { fails, team }: Spender, bill: Bill): Agent {
  if (team.length === 0) {
    const model = greedy(name, bill, (call) => {
      if (fails && call === 3) throw new TypeError("crashed");
      return { toolCalls: [{ name: "look", arguments: { n: call } }] };
    });
    return new ReActAgent({ name, model, tools: [look], loopDetection: false, maxSteps: 30 });
  }
  const members = team.map((one, n) => ({ name: `${name}_${n}`, one }));
  return new OrchestratorAgent({
    name,
    model: greedy(name, bill, (call) => hands(...members.map((member) => [member.name, `${call}`] as const))),
    subAgents: members.map(({ name: own, one }) => ({
      agent: build(own, one, bill),
      askTimeoutS: null,
      executionBudget: { maxTurns: one.maxTurns, maxCostUsd: one.maxCostUsd },
    })),
    retryPolicy: new RetryPolicy({ maxRetries: 1, baseMs: 0 }),
    maxSteps: 3,
    loopDetection: false,
  });
}

test("R18: no tree passes the cap of its root by the provider's own bill, however it nests, fails, lands and crashes", async () => {
  await fc.assert(
    fc.asyncProperty(
      spender,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(0.001, 0.004, 0.02),
      fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      async (root, maxTurns, maxCostUsd, crash) => {
        const bill: Bill = [];
        const journal = new MemoryJournal();
        const start = { runId: "r", executionBudget: { maxTurns, maxCostUsd } };
        const first = governed({ journal });
        const whole = await first.run(build("root", root, bill), "go", start).result;
        const cost = (): number => bill.reduce((sum, { nanos }) => sum + nanos, 0);
        const cap = Math.round(maxCostUsd * 1e9);
        expect(bill.length).toBeLessThanOrEqual(maxTurns);
        expect(cost()).toBeLessThanOrEqual(cap);
        // Nothing that was paid is missing from the result.
        expect(Math.round((whole.cost ?? 0) * 1e9)).toBe(cost());
        const accounts = whole.agents ?? [];
        expect(accounts.reduce((sum, one) => sum + Math.round((one.costUsd ?? 0) * 1e9), 0)).toBe(cost());
        if (crash === null) return;
        const records = journal.load(RunId("r"));
        const left = records.slice(0, 2 + Math.floor(crash * (records.length - 2)));
        const paid = left.filter(
          ({ key, phase, body }) =>
            key.startsWith("llm:") && phase === "end" && body["response"] !== undefined,
        ).length;
        const again: Bill = [];
        const agent = build("root", root, again);
        const resumed = await governed({ journal: cutJournal("r", left), agents: [agent] }).resume("r")
          .result;
        expect(paid + again.length).toBeLessThanOrEqual(maxTurns);
        expect(resumed.cost).toBeLessThanOrEqual(maxCostUsd);
      },
    ),
    { numRuns: RUNS },
  );
});
