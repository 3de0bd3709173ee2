import { expect } from "vitest";
import { isRaviError, Priority, textOf } from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import {
  agent,
  call,
  done,
  hires,
  outputOf,
  refuseWithoutEnd,
  type RuntimeCase,
  say,
  tool,
  until,
  word,
} from "./stage.ts";

export const hireCases: readonly RuntimeCase[] = [
  {
    rule: "R2",
    says: "hires of a batch come back in the order asked, each with its own fate",
    async run({ create }) {
      const child = agent("child", async (ctx, inbox) => {
        if (inbox.input === "fail") throw new RangeError("no");
        if (inbox.input === "half") return { status: "partial", output: "half", stopReason: "steps" };
        if (inbox.input === "late") await ctx.sleepUntil((await ctx.now()) + 20);
        return done(`${ctx.agentId} of ${String(ctx.supervision.parentId)}`);
      });
      const lead = agent("lead", async (ctx) => {
        const outcomes = await ctx.batch(hires(child, ["late", "fail", "half", "well"]));
        return done(outcomes.map((outcome) => `${outcome.status}:${outputOf(outcome)}`).join(" "));
      });
      const runtime = await create({ agents: [lead, child] });
      expect((await runtime.run(lead, "").result).output).toBe(
        "completed:child/1 of lead failed:failed partial:half completed:child/4 of lead",
      );
    },
  },
  {
    rule: "R2",
    says: "a child that takes too long is left to itself where its parent says so, and can be joined or cancelled",
    async run({ create }) {
      const slow = agent("slow", async (_, inbox) =>
        done(`${inbox.input} ${word((await inbox.receive()).content)}`),
      );
      const lead = agent("lead", async (ctx) => {
        const cut = await ctx.hire({ agent: slow, input: "a", timeoutS: 0.01 });
        const left = await ctx.hire({ agent: slow, input: "b", timeoutS: 0.01, onTimeout: "leave" });
        if (left.status !== "timedOut") return done(`was ${left.status}`);
        const known = `${cut.status} ${left.status} ${left.handle.agentId}`;
        left.handle.cancel("enough");
        return done(`${known} ${(await ctx.join(left.handle)).status}`);
      });
      const runtime = await create({ agents: [lead, slow] });
      expect((await runtime.run(lead, "").result).output).toBe("partial timedOut slow/2 cancelled");
    },
  },
  {
    rule: "R14",
    says: "never more agents than the headcount says, at any depth; who is too many is denied",
    async run({ create, caps }) {
      let [living, most] = [1, 1];
      const leaf = agent("leaf", async (ctx) => {
        most = Math.max(most, ++living);
        await ctx.sleepUntil((await ctx.now()) + 5);
        living--;
        return done("");
      });
      const middle = agent("middle", async (ctx) => {
        most = Math.max(most, ++living);
        const outcomes = await ctx.batch(hires(leaf, ["", "", ""]));
        living--;
        return done(outcomes.map(({ status }) => status[0]).join(""));
      });
      const lead = agent("lead", async (ctx) => {
        const outcomes = await ctx.batch(hires(middle, ["", ""]));
        return done(outcomes.map(outputOf).join(" "));
      });
      const runtime = await create({ agents: [lead, middle, leaf], headcount: caps.headcount });
      const { output } = await runtime.run(lead, "", { spawnBudget: { maxAgents: 4 } }).result;
      expect(most).toBeLessThanOrEqual(4);
      // With the lead and two middles there is one slot left for six leaves, so some are denied; or a middle was denied itself.
      expect(output.split("").filter((letter) => letter === "d").length).toBeGreaterThan(0);
    },
  },
  {
    rule: "R14",
    says: "nobody is hired deeper than the tree may grow",
    async run({ create, caps }) {
      const leaf = agent("leaf", async () => done("too deep"));
      const middle = agent("middle", async (ctx) => {
        const outcome = await ctx.hire({ agent: leaf, input: "" });
        if (outcome.status !== "denied" || !isRaviError(outcome.error, "BUDGET_EXHAUSTED"))
          return done(outputOf(outcome));
        const { dimension, used, limit } = outcome.error;
        return done(`denied: ${dimension} ${used} of ${limit}`);
      });
      const lead = agent("lead", async (ctx) => done(outputOf(await ctx.hire({ agent: middle, input: "" }))));
      const runtime = await create({ agents: [lead, middle, leaf], headcount: caps.headcount });
      const { output } = await runtime.run(lead, "", { spawnBudget: { maxDepth: 1 } }).result;
      expect(output).toBe("denied: depth 1 of 1");
    },
  },
  {
    rule: "R14",
    says: "a hire that may wait gets the seat of somebody who ends",
    async run({ create, caps }) {
      const child = agent("child", async (ctx, inbox) => {
        await ctx.now();
        return done(inbox.input);
      });
      const lead = agent("lead", async (ctx) => {
        const queued = hires(child, ["a", "b", "c"]).map((leaf) => ({ ...leaf, onFull: "queue" as const }));
        const outcomes = await ctx.batch(queued);
        return done(outcomes.map(outputOf).join(" "));
      });
      const runtime = await create({ agents: [lead, child], headcount: caps.headcount });
      const { output } = await runtime.run(lead, "", { spawnBudget: { maxAgents: 2 } }).result;
      expect(output).toBe("a b c");
    },
  },
  {
    rule: "R23",
    says: "the outcomes of a batch are in the order asked, whichever is there first: tools, model calls and hires",
    async run({ create }) {
      const late = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
      const model = scriptedModel(async () => (await late(), "model"));
      const child = agent("child", async () => done("child"));
      const lead = agent("lead", async (ctx) => {
        const [one, two, three, four] = await ctx.batch([
          {
            kind: "tool",
            call: call("slow"),
            tool: tool("slow", async () => (await late(), "slow"), { idempotent: true }),
          },
          { kind: "llm", model, request: say("go") },
          { kind: "hire", agent: child, input: "" },
          { kind: "tool", call: call("quick"), tool: tool("quick", () => "quick", { idempotent: true }) },
        ]);
        const tools = [one, four].map((each) => ("result" in each ? textOf(each.result) : each.status));
        const said = "response" in two ? textOf(two.response.message) : two.status;
        return done([tools[0], said, outputOf(three), tools[1]].join(" "));
      });
      const runtime = await create({ agents: [lead, child] });
      expect((await runtime.run(lead, "").result).output).toBe("slow model child quick");
    },
  },
  {
    rule: "R15",
    says: "a seat is free again, however its holder has ended",
    async run({ create, caps }) {
      const child = agent("child", async (_, inbox) => {
        if (inbox.input === "fail") throw new RangeError("no");
        if (inbox.input === "wait") await inbox.receive();
        return done(inbox.input);
      });
      const lead = agent("lead", async (ctx) => {
        const failed = await ctx.hire({ agent: child, input: "fail" });
        const late = await ctx.hire({ agent: child, input: "wait", timeoutS: 0.01 });
        const held = await ctx.spawn(child, { input: "wait" });
        held.cancel("enough");
        const cancelled = await ctx.join(held);
        const last = await ctx.hire({ agent: child, input: "seated" });
        return done([failed, late, cancelled].map(({ status }) => status).join(" ") + ` ${outputOf(last)}`);
      });
      const runtime = await create({ agents: [lead, child], headcount: caps.headcount });
      const { output } = await runtime.run(lead, "", { spawnBudget: { maxAgents: 2 } }).result;
      expect(output).toBe("failed partial cancelled seated");
    },
  },
  {
    rule: "R14",
    says: "an urgent hire takes a lesser one's slot; who lost it goes on later and repeats nothing",
    async run({ create, caps }) {
      const model = scriptedModel(() => "ok");
      const urgent = agent("urgent", async (ctx) => done(word(await ctx.waitFor("done"))));
      const lesser = agent("lesser", async (ctx) => {
        await ctx.llm(model, say("one"));
        await ctx.waitFor("preempted");
        await ctx.llm(model, say("two"));
        return done("finished");
      });
      const lead = agent("lead", async (ctx) => {
        const low = await ctx.spawn(lesser, { input: "", priority: Priority.LOW });
        await ctx.waitFor("hire");
        const high = await ctx.spawn(urgent, { input: "", priority: Priority.CRITICAL });
        await ctx.waitFor("join");
        const last = outputOf(await ctx.join(high));
        return done(`${last} ${outputOf(await ctx.join(low))}`);
      });
      const runtime = await create({ agents: [lead, urgent, lesser], headcount: caps.headcount });
      const handle = runtime.run(lead, "", { runId: "hire-1", spawnBudget: { maxAgents: 2 } });
      await until(() => model.calls.length === 1);
      await runtime.deliver("hire-1", "hire", 1);
      await runtime.deliver("hire-1", "join", 1);
      await runtime.deliver("hire-1", "preempted", 1);
      await runtime.deliver("hire-1", "done", "urgent");
      expect((await handle.result).output).toBe("urgent finished");
      expect(model.calls).toHaveLength(2);
    },
  },
  {
    rule: "R16",
    says: "a cap on turns holds for a whole tree at once, and who meets it returns what it has",
    async run({ create, caps }) {
      const model = scriptedModel(() => "ok", { record: false });
      let calls = 0;
      const child = agent("child", async (ctx) => {
        for (;;) {
          await ctx.llm(model, say("more"));
          refuseWithoutEnd(++calls);
        }
      });
      const lead = agent("lead", async (ctx) => {
        const outcomes = await ctx.batch(hires(child, ["", "", "", ""]));
        return done(outcomes.map(({ status }) => status).join(" "));
      });
      const runtime = await create({ agents: [lead, child], ledger: caps.ledger, meter: caps.meter });
      const { output } = await runtime.run(lead, "", { executionBudget: { maxTurns: 9 } }).result;
      expect(output).toBe("partial partial partial partial");
      // One of the nine turns may be reserved for a last answer.
      expect(calls).toBeLessThanOrEqual(9);
      expect(calls).toBeGreaterThanOrEqual(8);
    },
  },
];
