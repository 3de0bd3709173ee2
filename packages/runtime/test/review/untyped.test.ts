import { describe, expect, test } from "vitest";
import type { Agent, Ledger, LLMClient, ModelResponse, Reservation } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, ask, done } from "./helpers.ts";

// What comes from code that no compiler has seen.

function ledger(settled: unknown[]): Ledger {
  const reservation: Reservation = {
    settle(actual) {
      settled.push(actual);
      return { warnings: [], exceeded: [] };
    },
    cancel() {},
  };
  return {
    used: { tokens: 0, cost: 0, turns: 0, toolCalls: 0 },
    reserve: () => reservation,
    charge: () => ({ warnings: [], exceeded: [] }),
    child: () => ledger(settled),
    remaining: () => ({ tokens: null, cost: null, turns: null, toolCalls: null }),
    snapshot: () => ({}),
  };
}

describe("untyped code", () => {
  test.each([undefined, null, "done", 3])(
    "T11: a model that answers with %j fails, and its reservation is settled",
    async (given) => {
      const settled: unknown[] = [];
      const model: LLMClient = {
        id: "odd",
        info: { provider: "p", model: "m" },
        generate: async () => given as ModelResponse | undefined as ModelResponse,
      };
      const asking = agent("a", async (ctx) =>
        done(String((await ctx.llm(model, ask("go"))).message.content)),
      );
      for (const journal of [undefined, new MemoryJournal()]) {
        const runtime = new Runtime({ journal, ledger: () => ledger(settled) });
        const result = await runtime.run(asking, "go").result;
        expect(result).toMatchObject({
          status: "failed",
          error: { code: "PROVIDER_ERROR", retryable: false },
        });
        expect(result.error?.message).toContain("where an answer was expected");
      }
      expect(settled).toEqual([{ estimated: true }, { estimated: true }]);
    },
  );

  test("T11: a hire whose input is no text is refused, and says so", async () => {
    const helper: Agent = agent("helper", async () => done(""));
    const lead = agent("lead", async (ctx) => {
      const input = JSON.parse('{"task":"go"}') as string;
      const outcomes = await ctx.batch([{ kind: "hire", agent: helper, input }]);
      await expect(ctx.hire({ agent: helper, input })).rejects.toMatchObject({ code: "INVALID_VALUE" });
      return done(outcomes.map((outcome) => ("error" in outcome ? outcome.error.message : "hired")).join());
    });
    const { output } = await new Runtime({ journal: new MemoryJournal() }).run(lead, "go").result;
    expect(output).toContain("hire.input");
  });
});
