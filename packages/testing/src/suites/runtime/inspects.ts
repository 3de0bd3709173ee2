import { expect } from "vitest";
import { type RunReport, totalTokens } from "@ravi/kernel";
import { offered } from "../case.ts";
import { scriptedModel } from "../../scripted-model.ts";
import {
  agent,
  call,
  done,
  outputOf,
  type RuntimeCase,
  type RuntimeUnderTest,
  say,
  tool,
  until,
  untilWaiting,
  word,
} from "./stage.ts";

const INSPECT = { says: "a case about reports" } as const;

function inspect(runtime: RuntimeUnderTest, runId: string): Promise<RunReport> {
  return offered(runtime, "inspect", INSPECT).call(runtime, runId);
}

function callsOf({ calls }: RunReport): string[] {
  return calls.map(({ execId, key, kind, name, status }) => [execId, key, kind, name, status].join(" "));
}

/** What `inspect` says of a run. */
export const inspectCases: readonly RuntimeCase[] = [
  {
    rule: "R24",
    needs: "inspect",
    says: "a report on a run says who has worked, with which calls and for how much, while it waits and when it is over, where nobody knows its agents",
    async run({ create, caps }) {
      const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 1, outputTokens: 2 } }));
      const price = tool("price", () => "$4", { idempotent: true });
      const broken = tool("broken", () => Promise.reject(new Error("out of order")), { idempotent: true });
      const helper = agent("helper", async (ctx) => {
        await ctx.llm(model, say("look"));
        await ctx.tool(call("price"), price);
        return done("helped");
      });
      const lead = agent("lead", async (ctx) => {
        const helped = outputOf(await ctx.hire({ agent: helper, input: "" }));
        await ctx.tool(call("broken"), broken);
        return done(`${helped} ${word(await ctx.waitFor("word"))}`);
      });
      const runtime = await create({ agents: [lead, helper], ledger: caps.ledger });
      const options = { runId: "report-1", executionBudget: { maxTurns: 9 } };
      const handle = runtime.run(lead, "cars", options);
      await untilWaiting(handle);
      const other = await create({ agents: [], ledger: caps.ledger });
      const calls = [
        "report-1/hire:helper#1 llm:scripted/scripted#1 llm scripted:scripted ok",
        "report-1/hire:helper#1 tool:price#1 tool price ok",
        "report-1 tool:broken#1 tool broken error",
      ];
      await until(async () => (await inspect(other, "report-1")).calls.length === calls.length);
      await until(
        async () => !callsOf(await inspect(other, "report-1")).some((each) => each.endsWith("open")),
      );
      const waiting = await inspect(other, "report-1");
      expect(waiting).toMatchObject({ runId: "report-1", agent: "lead@1", input: "cars", inDoubt: [] });
      expect(waiting.waitingFor).toMatchObject([{ kind: "signal", name: "word" }]);
      expect(waiting.limits.executionBudget?.maxTurns).toBe(9);
      expect(callsOf(waiting)).toEqual(calls);
      expect(totalTokens(waiting.usage)).toBe(3);
      expect(waiting.agents.map(({ agentId, status, modelCalls }) => [agentId, status, modelCalls])).toEqual([
        ["lead", waiting.status, 0],
        ["helper/1", "completed", 1],
      ]);
      expect(waiting.result).toBeUndefined();
      await runtime.deliver("report-1", "word", "on");
      const { output, usage, cost, agents, inDoubt } = await handle.result;
      const over = await inspect(other, "report-1");
      expect(over).toMatchObject({ status: "completed", input: "cars", usage, cost, agents, inDoubt });
      expect(over.result).toMatchObject({ status: "completed", output, stopReason: "done" });
      expect(callsOf(over)).toEqual(calls);
      for (const { startedAt, endedAt = 0 } of over.calls) {
        expect(startedAt).toBeGreaterThanOrEqual(over.startedAt);
        expect(endedAt).toBeGreaterThanOrEqual(startedAt);
      }
    },
  },
  {
    rule: "R24",
    needs: "inspect",
    says: "a report has the calls that are under way, and an unknown run has no report",
    async run({ create, caps }) {
      const answered = Promise.withResolvers<void>();
      let under = 0;
      const slow = scriptedModel(async () => {
        under++;
        await answered.promise;
        return "at last";
      });
      const asker = agent("asker", async (ctx) => {
        await ctx.llm(slow, say("slowly"));
        return done("asked");
      });
      const runtime = await create({ agents: [asker], ledger: caps.ledger, meter: caps.meter });
      const handle = runtime.run(asker, "", { runId: "report-2", executionBudget: { maxTurns: 9 } });
      await until(() => under === 1);
      const report = await inspect(runtime, "report-2");
      expect([report.status, ...callsOf(report)]).toEqual([
        "running",
        "report-2 llm:scripted/scripted#1 llm scripted:scripted open",
      ]);
      // What is reserved for it counts until its end.
      expect(totalTokens(report.usage)).toBeGreaterThan(0);
      expect(report.agents).toMatchObject([
        { agentId: "asker", status: "running", modelCalls: 1, wasteUsd: 0 },
      ]);
      answered.resolve();
      expect((await handle.result).output).toBe("asked");
      expect(callsOf(await inspect(runtime, "report-2"))).toEqual([
        "report-2 llm:scripted/scripted#1 llm scripted:scripted ok",
      ]);
      await expect(inspect(runtime, "report-2-misspelt")).rejects.toMatchObject({
        code: "INVALID_VALUE",
        field: "runId",
      });
    },
  },
];
