import { expect } from "vitest";
import { BudgetExhaustedError, textOf } from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import {
  agent,
  call,
  done,
  hangingOnce,
  hires,
  outputOf,
  refuseWithoutEnd,
  type RuntimeCase,
  say,
  until,
  untilWaiting,
  word,
} from "./stage.ts";
import { turnsLedger } from "./turns-ledger.ts";

const REFUSED = { code: "INVALID_VALUE" } as const;

/** What a caller may ask of a run: limits, more budget, a stop, decisions. */
export const askCases: readonly RuntimeCase[] = [
  {
    rule: "R16",
    needs: "checks",
    says: "a limit that nobody keeps is refused; a deadline and a depth are kept without anybody",
    async run({ create }) {
      const idle = agent("idle", async () => done("ran"));
      const runtime = await create({ agents: [idle] });
      const tried = [{ executionBudget: { maxTurns: 1 } }, { spawnBudget: { maxAgents: 2 } }] as const;
      for (const options of tried)
        await expect(async () => runtime.run(idle, "", options).result).rejects.toMatchObject(REFUSED);
      const options = { executionBudget: { deadlineS: 60 }, spawnBudget: { maxDepth: 2 } };
      expect((await runtime.run(idle, "", options).result).output).toBe("ran");
    },
  },
  {
    rule: "R16",
    needs: "checks",
    says: "what is granted deep in a tree raises its cap once, and the limits of the result say so",
    async run({ create }) {
      const model = scriptedModel(() => "ok");
      let asks = 0;
      const asker = agent("asker", async (ctx) => {
        for (;;) {
          try {
            await ctx.llm(model, say("more"));
          } catch (error) {
            if (!(error instanceof BudgetExhaustedError) || ++asks > 1) throw error;
            if ((await ctx.requestBudget?.(error)) !== true) throw error;
          }
          refuseWithoutEnd(model.calls.length);
        }
      });
      const middle = agent("middle", async (ctx) =>
        done((await ctx.hire({ agent: asker, input: "" })).status),
      );
      const lead = agent("lead", async (ctx) => done(outputOf(await ctx.hire({ agent: middle, input: "" }))));
      const runtime = await create({ agents: [lead, middle, asker], ledger: turnsLedger });
      const handle = runtime.run(lead, "", { runId: "asked-1", executionBudget: { maxTurns: 2 } });
      const name = "approval:budget:asked-1/hire:middle#1/hire:asker#1";
      await runtime.deliver("asked-1", name, { turns: 3 });
      const { output, limits } = await handle.result;
      expect([output, model.calls.length]).toEqual(["partial", 5]);
      expect(limits?.executionBudget?.maxTurns).toBe(5);
    },
  },
  {
    rule: "R9",
    needs: "checks",
    says: "a caller's signal ends a run; where it was aborted before, nothing is paid",
    async run({ create }) {
      const model = scriptedModel(() => "ok");
      const patient = agent("patient", async (ctx) => {
        await ctx.llm(model, say("I wait"));
        return done(word(await ctx.waitFor("never")));
      });
      const runtime = await create({ agents: [patient] });
      const late = await runtime.run(patient, "", { signal: AbortSignal.abort("too late") }).result;
      expect([late.status, model.calls.length]).toEqual(["cancelled", 0]);
      expect(late.error?.message).toContain("too late");
      const controller = new AbortController();
      const handle = runtime.run(patient, "", { signal: controller.signal });
      await untilWaiting(handle);
      controller.abort("enough");
      const result = await handle.result;
      expect([result.status, model.calls.length]).toEqual(["cancelled", 1]);
      expect(result.error?.message).toContain("enough");
    },
  },
  {
    rule: "R24",
    needs: "checks",
    says: "a decision falls on the call that it names and on no other; a misspelt one is refused",
    async run({ create, crash }) {
      const tools = { a: hangingOnce("pay", false), b: hangingOnce("pay", false) };
      const payer = agent("payer", async (ctx, inbox) => {
        const result = await ctx.tool(call("pay"), tools[inbox.input === "a" ? "a" : "b"].tool);
        return done(result.isError ? "error" : textOf(result));
      });
      const lead = agent("lead", async (ctx) => {
        return done((await ctx.batch(hires(payer, ["a", "b"]))).map(outputOf).join(" "));
      });
      const setup = { agents: [lead, payer] };
      const first = await create(setup);
      first.run(lead, "", { runId: "asked-2" });
      await until(() => tools.a.calls() + tools.b.calls() === 2);
      await crash(first);
      const second = await create(setup);
      const decide = async (decisions: Readonly<Record<string, "retry" | "skip">>) =>
        second.resume("asked-2", { decisions }).result;
      expect((await decide({})).status).toBe("suspended");
      const [a, b] = [1, 2].map((n) => `asked-2/hire:payer#${n}:tool:pay#1`) as [string, string];
      await expect(decide({ [a]: "rety" as "retry" })).rejects.toMatchObject(REFUSED);
      expect([tools.a.calls(), tools.b.calls()]).toEqual([1, 1]);
      expect(await decide({ [a]: "retry" })).toMatchObject({
        status: "suspended",
        error: { code: "NEEDS_DECISION" },
      });
      expect(tools.b.calls()).toBe(1);
      expect((await decide({ [a]: "retry", [b]: "skip" })).output).toBe("pay 2 error");
      expect([tools.a.calls(), tools.b.calls()]).toEqual([2, 1]);
    },
  },
];
