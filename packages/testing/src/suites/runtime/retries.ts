import { expect } from "vitest";
import {
  type Agent,
  type RunContext,
  type HireOutcome,
  ProviderError,
  type RunResult,
  textOf,
} from "@ravi/kernel";
import { type ScriptedModel, scriptedModel } from "../../scripted-model.ts";
import { offered } from "../case.ts";
import {
  agent,
  call,
  done,
  hires,
  outputOf,
  type RuntimeCase,
  type RuntimeSetup,
  type RuntimeStage,
  type RuntimeUnderTest,
  say,
  tool,
  until,
  untilWaiting,
  word,
} from "./stage.ts";
import { turnsLedger } from "./turns-ledger.ts";

/** A model that answers some questions and is down for all others. `paid` has the questions that it has answered. */
class Provider {
  readonly paid: string[] = [];
  isUp = false;
  readonly model: ScriptedModel;
  private readonly known: readonly string[];

  constructor(...known: readonly string[]) {
    this.known = known;
    this.model = scriptedModel(({ messages }) => {
      const question = textOf(messages.at(-1) ?? { content: "" });
      if (!this.isUp && !this.known.includes(question))
        throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
      this.paid.push(question);
      return { text: `to ${question}`, usage: { inputTokens: 10, outputTokens: 1 } };
    });
  }

  async ask(ctx: RunContext, question: string): Promise<string> {
    return textOf((await ctx.llm(this.model, say(question))).message);
  }
}

/** The output of a child; throws what it has failed with. */
function needed(outcome: HireOutcome): string {
  if ("error" in outcome) throw outcome.error;
  return outputOf(outcome);
}

interface Retrying {
  readonly runId: string;
  readonly provider: Provider;
  readonly setup?: Partial<RuntimeSetup> | undefined;
}

/** Runs the first agent until it has failed, and continues it in a second runtime when the provider is up. */
async function retried(
  { create, crash }: RuntimeStage,
  { runId, provider, setup }: Retrying,
  lead: Agent,
  ...others: readonly Agent[]
): Promise<RunResult> {
  const agents = [lead, ...others];
  const first = await create({ agents, ...setup });
  expect(await first.run(lead, "a", { runId }).result).toMatchObject({ status: "failed" });
  await crash(first);
  provider.isUp = true;
  const second = await create({ agents, ...setup });
  return second.resume(runId, { retryFailed: true }).result;
}

async function statusOf(runtime: RuntimeUnderTest, run: string): Promise<string | undefined> {
  return (await runtime.list()).find(({ runId }) => runId === run)?.status;
}

/** Runs that have failed and are continued. */
export const retryCases: readonly RuntimeCase[] = [
  {
    rule: "R24",
    needs: "retryFailed",
    says: "a run that has failed stays failed unless it is asked to go on, and then pays for nothing again",
    async run({ create, crash }) {
      const provider = new Provider("a1");
      const asker = agent("asker", async (ctx, { input }) => {
        const stamp = await ctx.uuid();
        const answers = [];
        for (const n of [1, 2, 3]) answers.push(await provider.ask(ctx, `${input}${n}`));
        return done(`${stamp.length} ${answers.join(", ")}`);
      });
      const first = await create({ agents: [asker] });
      const failed = await first.run(asker, "a", { runId: "again-1" }).result;
      expect(failed).toMatchObject({ status: "failed", error: { code: "PROVIDER_ERROR" } });
      await crash(first);

      const second = await create({ agents: [asker] });
      const same = await second.resume("again-1").result;
      expect(same).toMatchObject({ status: "failed", usage: failed.usage });
      provider.isUp = true;
      expect(await second.resume("again-1").result).toMatchObject({ status: "failed" });
      const result = await second.resume("again-1", { retryFailed: true }).result;
      expect(result).toMatchObject({ status: "completed", output: "36 to a1, to a2, to a3" });
      expect(result.inDoubt ?? []).toEqual([]);
      expect(provider.paid).toEqual(["a1", "a2", "a3"]);
      expect(result.usage).toMatchObject({ inputTokens: 30, outputTokens: 3 });
      // Of a call that was made again, a report has the newest attempt. Not every runtime makes reports.
      const report = await second.inspect?.("again-1");
      expect(report?.calls.map(({ status }) => status) ?? ["ok", "ok", "ok"]).toEqual(["ok", "ok", "ok"]);
      expect(await statusOf(second, "again-1")).toBe("completed");
      expect(await second.resume("again-1", { retryFailed: true }).result).toMatchObject({
        status: "completed",
        output: result.output,
      });
      expect(provider.paid).toHaveLength(3);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "a run may fail again and be retried again, also in a child of a child",
    async run({ create }) {
      const provider = new Provider("x1");
      const worker = agent("worker", async (ctx, { input }) => {
        const first = await provider.ask(ctx, `${input}1`);
        return done(`${first}, ${await provider.ask(ctx, `${input}2`)}`);
      });
      const middle = agent("middle", async (ctx, { input }) =>
        done(needed(await ctx.hire({ agent: worker, input }))),
      );
      const lead = agent("lead", async (ctx) => done(needed(await ctx.hire({ agent: middle, input: "x" }))));
      const runtime = await create({ agents: [lead, middle, worker] });
      const again = (): Promise<RunResult> => runtime.resume("again-2", { retryFailed: true }).result;
      expect((await runtime.run(lead, "", { runId: "again-2" }).result).status).toBe("failed");
      expect((await again()).status).toBe("failed");
      expect((await again()).status).toBe("failed");
      provider.isUp = true;
      const result = await again();
      expect(result).toMatchObject({ status: "completed", output: "to x1, to x2" });
      expect(provider.paid).toEqual(["x1", "x2"]);
      expect(result.agents?.map(({ agentId, status }) => [agentId, status])).toEqual([
        ["lead", "completed"],
        ["middle/1", "completed"],
        ["worker/1.1", "completed"],
      ]);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "of a batch that has failed only what failed is made again, and no tool",
    async run(stage) {
      const provider = new Provider("b", "w1");
      let calls = 0;
      const pay = tool("pay", () => `paid ${++calls}`);
      const worker = agent("worker", async (ctx, { input }) => done(await provider.ask(ctx, input)));
      const lead = agent("lead", async (ctx) => {
        const { model } = provider;
        const [one, two, paid, ...hired] = await ctx.batch([
          { kind: "llm", model, request: say("a") },
          { kind: "llm", model, request: say("b") },
          { kind: "tool", call: call("pay"), tool: pay },
          ...hires(worker, ["w1", "w2"]),
        ]);
        const outcomes = [one, two, paid, ...hired];
        for (const outcome of outcomes) if (outcome !== undefined && "error" in outcome) throw outcome.error;
        return done(hired.map((each) => outputOf(each)).join(", "));
      });
      const result = await retried(stage, { runId: "again-3", provider }, lead, worker);
      expect(result).toMatchObject({ status: "completed", output: "to w1, to w2" });
      expect(provider.paid.toSorted()).toEqual(["a", "b", "w1", "w2"]);
      expect(calls).toBe(1);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "children that were stopped because the run failed go on with it, and those that had ended are joined",
    async run({ create }) {
      const provider = new Provider("0");
      let calls = 0;
      const pay = tool("pay", () => `paid ${++calls}`);
      const worker = agent("worker", async (ctx, { input }) => {
        const { isError } = await ctx.tool(call("pay"), pay);
        if (input === "2") await ctx.waitFor("go");
        return done(`${String(!isError)} ${await provider.ask(ctx, input)}`);
      });
      const lead = agent("lead", async (ctx) => {
        const handles = [];
        for (const input of ["0", "1", "2"]) handles.push(await ctx.spawn(worker, { input }));
        await ctx.waitFor("join");
        const outputs = [];
        for (const handle of [handles[1], handles[0], handles[2]])
          if (handle !== undefined) outputs.push(needed(await ctx.join(handle)));
        return done(outputs.join(", "));
      });
      const runtime = await create({ agents: [lead, worker] });
      const handle = runtime.run(lead, "", { runId: "again-4" });
      await until(() => calls === 3 && provider.paid.length === 1 && provider.model.calls.length === 2);
      await runtime.deliver("again-4", "join", true);
      expect((await handle.result).status).toBe("failed");
      provider.isUp = true;
      const again = runtime.resume("again-4", { retryFailed: true });
      await untilWaiting(again);
      await runtime.deliver("again-4", "go", true);
      expect(await again.result).toMatchObject({
        status: "completed",
        output: "true to 1, true to 0, true to 2",
      });
      expect([calls, provider.paid]).toEqual([3, ["0", "1", "2"]]);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "a run whose own code failed goes on with code that is right, and has what it had been told before",
    async run({ create, crash }) {
      const provider = new Provider();
      provider.isUp = true;
      const faults = { isWrong: true };
      const lead = agent("lead", async (ctx) => {
        await provider.ask(ctx, "x");
        const heard = word(await ctx.waitFor("word"));
        if (faults.isWrong) throw new TypeError("a mistake");
        return done(`${heard}, ${await provider.ask(ctx, "y")}`);
      });
      const first = await create({ agents: [lead] });
      const handle = first.run(lead, "", { runId: "again-5" });
      await untilWaiting(handle);
      await first.deliver("again-5", "word", "hello");
      expect((await handle.result).status).toBe("failed");
      await crash(first);
      faults.isWrong = false;
      const second = await create({ agents: [lead] });
      expect(await second.resume("again-5", { retryFailed: true }).result).toMatchObject({
        status: "completed",
        output: "hello, to y",
      });
      expect(provider.paid).toEqual(["x", "y"]);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "a failure that the agent has gone on after stays as it was",
    async run(stage) {
      const provider = new Provider("status");
      const worker = agent("worker", async (ctx) => done(await provider.ask(ctx, "x")));
      const lead = agent("lead", async (ctx) => {
        const { status } = await ctx.hire({ agent: worker, input: "" });
        await provider.ask(ctx, "status");
        return done(`${status}, ${await provider.ask(ctx, "last")}`);
      });
      const result = await retried(stage, { runId: "again-6", provider }, lead, worker);
      expect(result).toMatchObject({ status: "completed", output: "failed, to last" });
      expect(provider.paid).toEqual(["status", "last"]);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "what the failed calls may have cost stays charged, once, and the limits hold for all of it",
    async run(stage) {
      const setup = { ledger: turnsLedger };
      const provider = new Provider("a1");
      const worker = agent("worker", async (ctx, { input }) => {
        for (const n of [1, 2, 3]) await provider.ask(ctx, `${input}${n}`);
        return done("all");
      });
      const lead = agent(
        "lead",
        async (ctx, { input }) => {
          const said = needed(await ctx.hire({ agent: worker, input }));
          const { status } = await ctx.hire({ agent: worker, input: "b" });
          return done(`${said} ${status}`);
        },
        { defaults: { executionBudget: { maxTurns: 5 } } },
      );
      const result = await retried(stage, { runId: "again-7", provider, setup }, lead, worker);
      expect(result).toMatchObject({ status: "completed", output: "all partial" });
      // The turn that failed is the fifth.
      expect(provider.paid).toEqual(["a1", "a2", "a3", "b1"]);
      expect(result.agents?.map(({ modelCalls, retries }) => [modelCalls, retries])).toEqual([
        [0, 0],
        [3, 1],
        [1, 0],
      ]);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "a retried run that dies goes on from its record, and may be cancelled",
    async run({ create, crash }) {
      const provider = new Provider("a");
      const lead = agent("lead", async (ctx) => {
        const first = await provider.ask(ctx, "a");
        const second = await provider.ask(ctx, "b");
        await ctx.waitFor("go");
        return done(`${first}, ${second}`);
      });
      const agents = [lead];
      const runtime = await create({ agents });
      for (const runId of ["again-8", "again-9"])
        expect((await runtime.run(lead, "", { runId }).result).status).toBe("failed");
      provider.isUp = true;
      for (const runId of ["again-8", "again-9"])
        await untilWaiting(runtime.resume(runId, { retryFailed: true }));
      await crash(runtime);
      const other = await create({ agents });
      await other.deliver("again-8", "go", true);
      expect(await other.resume("again-8").result).toMatchObject({ output: "to a, to b" });
      const stopped = other.resume("again-9");
      await untilWaiting(stopped);
      await other.cancel("again-9", "enough");
      expect((await stopped.result).status).toBe("cancelled");
      expect(await other.resume("again-9", { retryFailed: true }).result).toMatchObject({
        status: "cancelled",
      });
      expect(provider.paid).toEqual(["a", "a", "b", "b"]);
    },
  },
  {
    rule: "R24",
    needs: "retryFailed",
    says: "what is on record of a retried run has the failure, and after it what was done then",
    async run(stage) {
      const provider = new Provider("a");
      const lead = agent("lead", async (ctx) => {
        await provider.ask(ctx, "a");
        return done(await provider.ask(ctx, "b"));
      });
      const { create, crash } = stage;
      const first = await create({ agents: [lead] });
      const seqs: number[] = [];
      await first.run(lead, "", { runId: "again-10" }).result;
      await crash(first);
      provider.isUp = true;
      const second = await create({ agents: [lead] });
      const handle = second.resume("again-10", { retryFailed: true });
      for await (const { seq } of handle.events()) seqs.push(seq);
      expect((await handle.result).output).toBe("to b");
      expect(new Set(seqs).size).toBe(seqs.length);
      const events = await offered(second, "recordedEvents", { says: "a retry" }).call(second, "again-10");
      const types = events.map(({ event }) => event.type);
      expect(types.filter((type) => type === "text")).toHaveLength(2);
      expect(types.filter((type) => type === "started")).toHaveLength(1);
      expect([types.includes("error"), types.at(-1)]).toEqual([true, "completed"]);
    },
  },
];
