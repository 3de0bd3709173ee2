import { BudgetExhaustedError, type ExecutionBudgetOptions, RaviError } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import { agent, ask, done, FakeLedger, until, within } from "../support/helpers.ts";

describe("a ledger of the user's own that refuses", () => {
  const model = scriptedModel(() => "ok");
  const asker = (own: FakeLedger | undefined) => ({
    ...agent("asker", async (ctx) => {
      await ctx.llm(model, ask("1"));
      const refusal: unknown = await ctx.llm(model, ask("2")).catch((error: unknown) => error);
      if (!(refusal instanceof BudgetExhaustedError)) throw refusal;
      const isGranted = await ctx.requestBudget?.(refusal);
      return done(`${String(isGranted)} ${String(await ctx.waitFor("word"))} ${refusal.message}`);
    }),
    ...(own !== undefined && { defaults: { executionBudget: own } }),
  });
  class RaisableLedger extends FakeLedger {
    raise(): void {}
    override child(budget: ExecutionBudgetOptions): RaisableLedger {
      return new RaisableLedger(budget, this);
    }
  }
  const raisable = () => new RaisableLedger({ maxTurns: 5 });

  it.each([false, true])(
    "is not asked about, since an answer would raise other limits; the error says whose limit it is (resumed: %s)",
    async (isResumed) => {
      const journal = new MemoryJournal();
      const open = () =>
        new Runtime({ journal, ledger: raisable, agents: [asker(new FakeLedger({ maxTurns: 1 }))] });
      let runtime = open();
      let { result } = runtime.run(asker(new FakeLedger({ maxTurns: 1 })), "", { runId: "r" });
      await until(() => journal.list()[0]?.waitingFor !== undefined);
      if (isResumed) {
        await runtime.close();
        await result;
        runtime = open();
        ({ result } = runtime.resume("r"));
        await until(() => journal.list()[0]?.waitingFor !== undefined);
      }
      expect(journal.list()[0]?.waitingFor?.map(({ name }) => name)).toEqual(["word"]);
      await runtime.deliver("r", "word", "bye");
      const output = expect.stringMatching(
        /^false bye turns budget of fake exhausted: 2 of 1; .* a ledger of your own/,
      );
      expect(await within(result)).toMatchObject({ output });
    },
  );

  class OwnRefusal extends BudgetExhaustedError {
    readonly invoice = 7;
  }
  const fields = { dimension: "cost", used: 2, limit: 1, scope: "mine" } as const;
  const plain = () => new RaviError({ code: "BUDGET_EXHAUSTED", message: "my own limit" });
  it.each([
    ["without fields", plain(), false],
    ["with a field that is none", Object.assign(plain(), fields, { used: NaN }), false],
    ["of a class of its own", new OwnRefusal(fields), true],
  ])(
    "with an error %s ends the run as any other limit does, and the agent sees that error",
    async (_, refusal, isCause) => {
      class OwnLedger extends FakeLedger {
        override reserve(): never {
          throw refusal;
        }
      }
      let seen: unknown;
      const only = {
        ...agent("only", (ctx) =>
          ctx.llm(model, ask("1")).then(
            () => done("ok"),
            (error: unknown) => {
              seen = error;
              throw error;
            },
          ),
        ),
        defaults: { executionBudget: new OwnLedger() },
      };
      const result = await within(new Runtime({ ledger: raisable }).run(only, "").result);
      expect(result).toMatchObject({ status: "partial" });
      expect(isCause ? seen instanceof Error && seen.cause : seen).toBe(refusal);
      // Nobody is asked for more because of it.
      expect(seen).toMatchObject({ raisable: false });
    },
  );

  it("above the agent is not asked about either", async () => {
    const runtime = new Runtime({ ledger: raisable });
    const lead = {
      ...agent("lead", async (ctx) => {
        const outcome = await ctx.hire({ agent: asker(undefined), input: "" });
        return done("result" in outcome ? outcome.result.output : outcome.status);
      }),
      defaults: { executionBudget: new FakeLedger({ maxTurns: 1 }) },
    };
    const { runId, result } = runtime.run(lead, "");
    await runtime.deliver(runId, "word", "bye");
    expect(await within(result)).toMatchObject({ output: expect.stringMatching(/^false bye/) });
  });

  it("leaves a refusal of the run's own ledger to be asked about", async () => {
    const runtime = new Runtime({
      ledger: () => new RaisableLedger({ maxTurns: 1 }),
    });
    const { runId, result } = runtime.run(asker(new FakeLedger({ maxTurns: 9 })), "");
    await runtime.deliver(runId, `approval:budget:${runId}`, { turns: 1 });
    await runtime.deliver(runId, "word", "bye");
    expect(await within(result)).toMatchObject({ output: expect.stringMatching(/^true bye/) });
  });
});
