import { expect } from "vitest";
import { HookEvent, isRaviError, type JsonValue, Priority, textOf } from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import { listening } from "./listening.ts";
import { agent, call, done, outputOf, type RuntimeCase, say, tool, until, word } from "./stage.ts";
import { turnsLedger } from "./turns-ledger.ts";

export const eventCases: readonly RuntimeCase[] = [
  {
    rule: "R21",
    says: "hooks are told of a run, its model calls and its tools when they begin and when they end",
    async run({ create }) {
      const order = [
        HookEvent.RUN_START,
        HookEvent.LLM_START,
        HookEvent.LLM_END,
        HookEvent.TOOL_START,
        HookEvent.TOOL_END,
        HookEvent.RUN_END,
      ] as const;
      const { hooks, heard } = listening(...order);
      const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 3, outputTokens: 2 } }));
      const note = tool("note", () => "noted", { idempotent: true });
      const clerk = agent("clerk", async (ctx) => {
        await ctx.llm(model, say("think"));
        return done(textOf(await ctx.tool(call("note"), note)));
      });
      const runtime = await create({ agents: [clerk], hooks });
      const { result } = runtime.run(clerk, "", { runId: "told-5" });
      expect((await result).output).toBe("noted");
      await until(() => heard.at(-1)?.event === HookEvent.RUN_END);
      expect(heard.map(({ event }) => event)).toEqual(order);
      for (const { payload } of heard) expect(payload).toMatchObject({ agentId: "clerk", runId: "told-5" });
      expect(heard[2]?.payload).toMatchObject({ usage: { inputTokens: 3, outputTokens: 2 } });
      expect(heard[4]?.payload).toMatchObject({ toolName: "note", status: "ok" });
    },
  },
  {
    rule: "R21",
    says: "who finds out at its next calls that it has lost its slot tells it once, waits, and tells once that it goes on",
    async run({ create, caps }) {
      const { hooks, heard } = listening(HookEvent.PREEMPTED, HookEvent.RESUMED);
      const taken = Promise.withResolvers<void>();
      let under = 0;
      const slow = scriptedModel(async () => {
        under++;
        await taken.promise;
        return "ok";
      });
      let made = 0;
      const note = tool("note", () => ++made, { idempotent: true });
      const urgent = agent("urgent", async (ctx) => done(word(await ctx.waitFor("done"))));
      const lesser = agent("lesser", async (ctx) => {
        await ctx.llm(slow, say("while it is answered, the slot goes"));
        const calls = ["a", "b", "c"].map((id) => ({ ...call("note"), id }));
        const outcomes = await ctx.batch(calls.map((one) => ({ kind: "tool", call: one, tool: note })));
        return done(outcomes.map(({ status }) => status).join(" "));
      });
      const lead = agent("lead", async (ctx) => {
        const low = await ctx.spawn(lesser, { input: "", priority: Priority.LOW });
        await ctx.waitFor("hire");
        const high = await ctx.spawn(urgent, { input: "", priority: Priority.CRITICAL });
        taken.resolve();
        const last = outputOf(await ctx.join(high));
        return done(`${last} ${outputOf(await ctx.join(low))}`);
      });
      const runtime = await create({ agents: [lead, urgent, lesser], headcount: caps.headcount, hooks });
      const handle = runtime.run(lead, "", { runId: "told-1", spawnBudget: { maxAgents: 2 } });
      await until(() => under === 1);
      await runtime.deliver("told-1", "hire", 1);
      await until(() => heard.length === 1);
      expect([heard[0]?.event, made]).toEqual([HookEvent.PREEMPTED, 0]);
      await runtime.deliver("told-1", "done", "urgent");
      expect((await handle.result).output).toBe("urgent completed completed completed");
      expect(heard.map(({ event }) => event)).toEqual([HookEvent.PREEMPTED, HookEvent.RESUMED]);
      expect(heard[0]?.payload).toMatchObject({ agentId: "lesser/1" });
    },
  },
  {
    rule: "R21",
    says: "that a limit is nearly used up is told by the call that passes the threshold, once, to the agent's hooks as well",
    async run({ create }) {
      const { hooks, heard } = listening(HookEvent.BUDGET_WARNING, HookEvent.LLM_END);
      const own = listening(HookEvent.BUDGET_WARNING);
      const model = scriptedModel(() => "ok");
      const spender = agent(
        "spender",
        async (ctx) => {
          for (let n = 0; n < 5; n++) await ctx.llm(model, say(`${n}`));
          return done("spent");
        },
        { hooks: own.hooks },
      );
      const runtime = await create({ agents: [spender], hooks, ledger: turnsLedger });
      const result = await runtime.run(spender, "", { executionBudget: { maxTurns: 5 } }).result;
      expect(result.output).toBe("spent");
      const ended = HookEvent.LLM_END;
      expect(heard.map(({ event }) => event)).toEqual([
        ended,
        ended,
        ended,
        HookEvent.BUDGET_WARNING,
        ended,
        ended,
      ]);
      expect(own.heard.map(({ payload }) => payload)).toMatchObject([
        { dimension: "turns", used: 4, limit: 5, agentId: "spender" },
      ]);
    },
  },
  {
    rule: "R16",
    says: "a limit that a provider's excess has passed is in the result",
    async run({ create }) {
      const usage = { inputTokens: 3, outputTokens: 4 };
      const model = scriptedModel(() => ({ text: "ok", usage }));
      const spender = agent("spender", async (ctx) => {
        await ctx.llm(model, say("hello"));
        return done("spent");
      });
      const runtime = await create({ agents: [spender], ledger: turnsLedger });
      const limited = await runtime.run(spender, "", { executionBudget: { maxTokens: 5 } }).result;
      expect(limited.exceeded).toEqual([{ dimension: "tokens", used: 7, limit: 5, scope: "spender" }]);
      const enough = await runtime.run(spender, "", { executionBudget: { maxTokens: 7 } }).result;
      expect(enough.exceeded).toBeUndefined();
    },
  },
  {
    rule: "J3",
    says: "a tool reports how far it is by events of its agent, with the id of its call, in between the agent's own",
    async run({ create }) {
      const copier = tool(
        "copier",
        (_, { progress }) => {
          const rows = { done: 0 };
          for (; rows.done < 3; rows.done++) progress?.("rows", rows);
          return "copied";
        },
        { idempotent: true },
      );
      const teller = agent("teller", async (ctx) => {
        ctx.emit({ type: "progress", name: "before", data: null });
        await ctx.tool(call("copier"), copier);
        ctx.emit({ type: "progress", name: "after", data: null });
        return done("told");
      });
      const runtime = await create({ agents: [teller] });
      const handle = runtime.run(teller, "");
      const events = await Array.fromAsync(handle.events());
      expect((await handle.result).output).toBe("told");
      const told = events.flatMap(({ event }) => (event.type === "progress" ? [event] : []));
      const rows = [0, 1, 2].map((n) => ({
        type: "progress",
        name: "rows",
        data: { done: n },
        callId: "c1",
      }));
      expect(told).toEqual([
        { type: "progress", name: "before", data: null },
        ...rows,
        { type: "progress", name: "after", data: null },
      ]);
      expect(new Set(events.map(({ execId }) => execId)).size).toBe(1);
    },
  },
  {
    rule: "J3",
    says: "the answer of a quiet call is the agent's alone: observers are told what it has used and nothing of what it says",
    async run({ create }) {
      const quiet = scriptedModel(["a plan", { text: "a note", reasoning: "hm" }], { chunkSize: 2 });
      const loud = scriptedModel(["the ", "answer"]);
      const teller = agent("teller", async (ctx) => {
        const first = await ctx.llm(quiet, say("plan"), { quiet: true });
        const outcomes = await ctx.batch([
          { kind: "llm", model: quiet, request: say("note"), quiet: true },
          { kind: "llm", model: loud, request: say("go") },
        ]);
        const last = await ctx.llm(loud, say("on"), { quiet: false });
        const texts = outcomes.map((one) => ("response" in one ? textOf(one.response.message) : one.status));
        return done([textOf(first.message), ...texts, textOf(last.message)].join("|"));
      });
      const runtime = await create({ agents: [teller] });
      const handle = runtime.run(teller, "");
      const events = await Array.fromAsync(handle.events());
      expect((await handle.result).output).toBe("a plan|a note|the |answer");
      const told = events.flatMap(({ event }) => ("delta" in event ? [event.delta] : []));
      expect(told.join("")).toBe("the answer");
      expect(events.filter(({ event }) => event.type === "usage")).toHaveLength(4);
    },
  },
  {
    rule: "J3",
    says: "an event whose data JSON cannot write is refused where it is emitted, by its name, whether or not somebody reads the events",
    async run({ create }) {
      const ring: Record<string, JsonValue> = {};
      ring["self"] = ring;
      const teller = agent("teller", async (ctx) => {
        let refusal = "accepted";
        try {
          ctx.emit({ type: "progress", name: "ring", data: ring });
        } catch (error) {
          refusal = isRaviError(error, "INVALID_VALUE") ? error.message : "another error";
        }
        ctx.emit({ type: "progress", name: "after", data: null });
        return done(refusal);
      });
      const runtime = await create({ agents: [teller] });
      const handle = runtime.run(teller, "");
      const events = await Array.fromAsync(handle.events());
      expect((await handle.result).output).toContain("event ring: data");
      expect((await runtime.run(teller, "").result).output).toContain("event ring: data");
      const told = events.flatMap(({ event }) => (event.type === "progress" ? [event.name] : []));
      expect(told).toEqual(["after"]);
    },
  },
];
