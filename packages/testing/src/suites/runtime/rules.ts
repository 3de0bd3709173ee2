import { expect } from "vitest";
import {
  type Agent,
  type AgentRunContext,
  type ErrorKind,
  HookEvent,
  isRaviError,
  type Meter,
  type Pipeline,
  ProviderError,
  type RestartPolicy,
  textOf,
} from "@ravi/kernel";
import { scriptedModel } from "../../scripted-model.ts";
import { listening } from "./listening.ts";
import { agent, done, outputOf, refuseWithoutEnd, type RuntimeCase, say, tool, word } from "./stage.ts";

/** Restarts a crashed execution at once, up to `most` times. */
function restarts(most: number): RestartPolicy {
  const counts = new Map<string, number>();
  return {
    shouldRetry(execId) {
      const count = (counts.get(execId) ?? 0) + 1;
      counts.set(execId, count);
      return count <= most;
    },
    delayMs: () => 1,
    reset: (execId) => void counts.delete(execId),
  };
}

function agentLayer(admit: (context: AgentRunContext) => void): Pipeline<AgentRunContext> {
  return { isNoop: false, admit, run: (_context, core) => core() };
}

const UNPAID: readonly ErrorKind[] = [
  "RATE_LIMIT",
  "AUTH",
  "AUTH_PERMANENT",
  "BILLING",
  "MODEL_NOT_FOUND",
  "CONTEXT_OVERFLOW",
];
/** Errors after which the provider may have worked, and charged. */
const MAYBE_PAID: readonly ErrorKind[] = ["TIMEOUT", "SERVER_ERROR", "UNKNOWN"];

export const ruleCases: readonly RuntimeCase[] = [
  {
    rule: "R23",
    says: "calls of a batch are admitted in the order asked: where the limit ends, those before it are made",
    async run({ create, caps }) {
      const made: string[] = [];
      const note = tool("note", (args) => void made.push(JSON.stringify(args)), { idempotent: true });
      const clerk = agent("clerk", async (ctx) => {
        const leaves = [1, 2, 3, 4, 5, 6].map((n) => {
          const call = { id: `c${n}`, name: "note", arguments: `{"n":${n}}` };
          return { kind: "tool", call, tool: note } as const;
        });
        const outcomes = await ctx.batch(leaves);
        return done(outcomes.map((one) => ("error" in one ? one.error.code : one.status)).join(" "));
      });
      const runtime = await create({ agents: [clerk], ledger: caps.ledger, meter: caps.meter });
      const { output } = await runtime.run(clerk, "", { executionBudget: { maxToolCalls: 3 } }).result;
      const refused = "BUDGET_EXHAUSTED";
      expect(output).toBe(["completed", "completed", "completed", refused, refused, refused].join(" "));
      expect(made.toSorted()).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    },
  },
  {
    rule: "R16",
    says: "whoever was hired says what it has used, whatever came of it, and which limit cut it off",
    async run({ create, caps }) {
      const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 3, outputTokens: 2 } }));
      const worker = agent("worker", async (ctx, inbox) => {
        for (let n = 0; n < Number(inbox.input); n++) await ctx.llm(model, say(`${n}`));
        return done("worked");
      });
      const middle = agent("middle", async (ctx, inbox) => {
        await ctx.llm(model, say("mine"));
        return done(outputOf(await ctx.hire({ agent: worker, input: inbox.input })));
      });
      const sleeper = agent("sleeper", async (ctx, inbox) => {
        await ctx.llm(model, say("then I sleep"));
        return done(word((await inbox.receive()).content));
      });
      const lead = agent("lead", async (ctx) => {
        const whole = await ctx.hire({ agent: middle, input: "2" });
        const cut = await ctx.hire({ agent: worker, input: "9", executionBudget: { maxTurns: 1 } });
        const held = await ctx.spawn(sleeper, { input: "" });
        const full = await ctx.spawn(sleeper, { input: "" });
        const denied = await ctx.hire({ agent: worker, input: "1" });
        held.cancel("enough");
        full.cancel("enough");
        const ended = [await ctx.join(held), await ctx.join(full)];
        const left = await ctx.hire({ agent: sleeper, input: "", timeoutS: 1, onTimeout: "leave" });
        const tokens = [whole, cut, denied, ...ended, left].map(({ status, usage }) => {
          const used =
            status === "cancelled" || status === "timedOut" ? usage !== undefined : usage?.inputTokens;
          return `${status}:${String(used)}`;
        });
        return done([...tokens, cut.stoppedBy?.dimension, denied.costUsd === undefined].join(" "));
      });
      const setup = { headcount: caps.headcount, ledger: caps.ledger, meter: caps.meter };
      const runtime = await create({ agents: [lead, middle, worker, sleeper], ...setup });
      const options = { spawnBudget: { maxAgents: 3 }, executionBudget: { maxTurns: 100 } };
      const { output, status, usage, agents } = await runtime.run(lead, "", options).result;
      // Not every engine has accounts.
      if (agents !== undefined)
        expect(agents.filter(({ stopReason }) => stopReason !== undefined)).toMatchObject([
          { status: "partial", stopReason: "budget", stoppedBy: { dimension: "turns", limit: 1 } },
        ]);
      expect([status, output]).toEqual([
        "completed",
        "completed:9 partial:3 denied:0 cancelled:true cancelled:true timedOut:true turns false",
      ]);
      expect(usage.inputTokens).toBeGreaterThanOrEqual(12);
    },
  },
  {
    rule: "R18",
    needs: "checks",
    says: "a result says what its run has used and cost, and which limit has stopped it",
    async run({ create, caps }) {
      const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 3, outputTokens: 2 } }));
      const meter: Meter = {
        estimate: () => ({ inputTokens: 3, maxOutputTokens: 2, price: { usd: 0.25 } }),
        price: () => ({ usd: 0.25 }),
      };
      let calls = 0;
      const spender = agent("spender", async (ctx) => {
        for (;;) {
          await ctx.llm(model, say("more"));
          refuseWithoutEnd(++calls);
        }
      });
      const runtime = await create({ agents: [spender], ledger: caps.ledger, meter });
      const result = await runtime.run(spender, "", { executionBudget: { maxTurns: 4 } }).result;
      expect(result).toMatchObject({
        status: "partial",
        stopReason: "budget",
        stoppedBy: { dimension: "turns", limit: 4 },
        usage: { inputTokens: 3 * calls, outputTokens: 2 * calls },
        cost: calls / 4,
      });
    },
  },
  {
    rule: "R18",
    says: "what a call has reserved and not used is free for others while its agent sleeps or waits for a child",
    async run({ create, caps }) {
      const model = scriptedModel(() => ({ text: "ok", usage: { inputTokens: 1, outputTokens: 1 } }));
      const large = { ...say("much may come"), maxOutputTokens: 1_000 } as const;
      for (const how of ["sleeps", "joins"]) {
        let isFree = false;
        const tried = Promise.withResolvers<void>();
        // What was left of the call is given back a moment later.
        const patient = agent("patient", async (ctx) => {
          await ctx.waitFor("go");
          for (let tries = 0; tries < 50 && !isFree; tries++) {
            await ctx.sleepUntil((await ctx.now()) + 10);
            isFree = await ctx.llm(model, large).then(
              () => true,
              () => false,
            );
          }
          tried.resolve();
          return done("");
        });
        const resting = Promise.withResolvers<void>();
        const lead = agent("lead", async (ctx) => {
          const child = await ctx.spawn(patient, { input: "" });
          await ctx.llm(model, large);
          resting.resolve();
          if (how === "sleeps") await ctx.sleepUntil((await ctx.now()) + 600_000);
          return done(outputOf(await ctx.join(child)));
        });
        const { ledger, headcount, meter } = caps;
        const runtime = await create({ agents: [lead, patient], ledger, headcount, meter });
        const runId = `free-${how}`;
        const handle = runtime.run(lead, "", { runId, executionBudget: { maxTokens: 1_900 } });
        await resting.promise;
        await runtime.deliver(runId, "go", true);
        await tried.promise;
        expect([how, isFree]).toEqual([how, true]);
        handle.cancel("that is all");
        await handle.result;
      }
    },
  },
  {
    rule: "R18",
    says: "a call that was refused before any work costs its turn alone, also where it has no status; one that broke, all that was set aside",
    async run({ create, caps }) {
      const model = scriptedModel((request) => {
        const kind = textOf(request.messages[0] ?? { content: "" }) as ErrorKind;
        throw new ProviderError({ kind, message: `no: ${kind}`, retryable: false });
      });
      const asker = agent("asker", async (ctx, inbox) => {
        const error: unknown = await ctx.llm(model, say(inbox.input)).catch((reason: unknown) => reason);
        return done(isRaviError(error, "PROVIDER_ERROR") ? error.kind : "no failure");
      });
      const runtime = await create({ agents: [asker], ledger: caps.ledger, meter: caps.meter });
      const spent = async (kind: ErrorKind): Promise<number> => {
        const { output, usage } = await runtime.run(asker, kind, { executionBudget: { maxTurns: 9 } }).result;
        expect(output).toBe(kind);
        return usage.inputTokens + usage.outputTokens;
      };
      const paid: ErrorKind[] = [];
      for (const kind of [...UNPAID, ...MAYBE_PAID]) if ((await spent(kind)) > 0) paid.push(kind);
      expect(paid).toEqual(MAYBE_PAID);
    },
  },
  {
    rule: "R11",
    needs: "layers",
    says: "a layer around the agent sees its input before it is on record anywhere, a root's as well as a child's",
    async run({ create }) {
      const { hooks, heard } = listening(HookEvent.RUN_START);
      const child = agent("child", async (_ctx, inbox) => done(`child ${inbox.input}`));
      const lead = agent("lead", async (ctx, inbox) => {
        const outcome = await ctx.hire({ agent: child, input: "key hunter2" });
        return done(`lead ${inbox.input}, ${outputOf(outcome)}`);
      });
      const redact = agentLayer(
        (context) => (context.input = context.input.replaceAll(/hunter2|swordfish/g, "***")),
      );
      const runtime = await create({ agents: [lead, child], hooks, pipelines: { agent: redact } });
      const handle = runtime.run(lead, "key swordfish", { runId: "rule-1" });
      const events = await Array.fromAsync(handle.events());
      expect((await handle.result).output).toBe("lead key ***, child key ***");
      expect(JSON.stringify([events, heard])).not.toMatch(/hunter2|swordfish/);
      expect(heard.map(({ payload }) => payload)).toMatchObject([{ input: "key ***" }, { input: "key ***" }]);
    },
  },
  {
    rule: "R11",
    needs: "layers",
    says: "a layer that answers for a root ends the run with its answer; the agent does not run, and the answer stays",
    async run({ create }) {
      let goes = 0;
      const lead = agent("lead", async () => done(`go ${++goes}`));
      const refuse = agentLayer((context) => (context.result = done(`not ${context.input}`)));
      const own = { ...lead, pipelines: { agent: refuse } };
      const runtime = await create({ agents: [own] });
      const handle = runtime.run(own, "this", { runId: "rule-2" });
      const { agents = [], ...result } = await handle.result;
      expect(result).toMatchObject({ status: "completed", output: "not this", cost: 0 });
      expect(agents).toEqual([]);
      expect((await runtime.resume("rule-2").result).output).toBe("not this");
      expect(goes).toBe(0);
    },
  },
  {
    rule: "R11",
    needs: "layers",
    says: "a layer that sets nothing for an answer has given none: those inside of it see the input all the same",
    async run({ create }) {
      const nothing = agentLayer((context) => Reflect.set(context, "result", null));
      const redact = agentLayer((context) => (context.input = context.input.replace("swordfish", "***")));
      const lead = agent("lead", async (_ctx, inbox) => done(inbox.input), { pipelines: { agent: redact } });
      const runtime = await create({ agents: [lead], pipelines: { agent: nothing } });
      expect((await runtime.run(lead, "key swordfish").result).output).toBe("key ***");
    },
  },
  {
    rule: "R11",
    needs: "layers",
    says: "a layer's answer that cannot be read as one starts nothing",
    async run({ create }) {
      let goes = 0;
      const lead = agent("lead", async () => done(`go ${++goes}`));
      const wrong = agentLayer((context) => Reflect.set(context, "result", { status: "completed" }));
      const runtime = await create({ agents: [lead], pipelines: { agent: wrong } });
      await expect(async () => runtime.run(lead, "", { runId: "rule-5" }).result).rejects.toThrow(/result/);
      await expect(async () => runtime.resume("rule-5").result).rejects.toMatchObject({
        code: "INVALID_VALUE",
      });
      expect(goes).toBe(0);
    },
  },
  {
    rule: "R17",
    needs: "restart",
    says: "a root whose own code throws is started again as the policy says, which its own hooks hear too, and repeats nothing that is on record",
    async run({ create }) {
      const { hooks, heard } = listening(HookEvent.RETRY);
      const own = listening(HookEvent.RETRY);
      const model = scriptedModel((request) => `heard ${textOf(request.messages[0] ?? { content: "" })}`);
      let goes = 0;
      const child = agent("child", async (ctx) => done(textOf((await ctx.llm(model, say("b"))).message)));
      const run: Agent["run"] = async (ctx) => {
        const { message } = await ctx.llm(model, say("a"));
        const outcome = await ctx.hire({ agent: child, input: "" });
        if (++goes < 3) throw new RangeError(`crash ${goes}`);
        return done(`${textOf(message)}, ${outputOf(outcome)}`);
      };
      const lead = agent("lead", run, { hooks: own.hooks });
      const runtime = await create({ agents: [lead, child], hooks, restart: restarts(2) });
      const result = await runtime.run(lead, "", { runId: "rule-3" }).result;
      expect(result).toMatchObject({ status: "completed", output: "heard a, heard b" });
      expect([goes, model.calls.length]).toEqual([3, 2]);
      expect(result.inDoubt ?? []).toEqual([]);
      expect(heard.map(({ payload }) => payload)).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
      expect(own.heard).toEqual(heard);
    },
  },
  {
    rule: "R17",
    needs: "restart",
    says: "a root that throws more often than the policy allows has failed, and so has a child at its first time",
    async run({ create }) {
      let [leads, children] = [0, 0];
      const child = agent("child", async () => {
        children++;
        throw new RangeError("child");
      });
      const lead = agent("lead", async (ctx) => {
        const { status } = await ctx.hire({ agent: child, input: "" });
        leads++;
        throw new RangeError(`the child has ${status}`);
      });
      const runtime = await create({ agents: [lead, child], restart: restarts(2) });
      const { status, error } = await runtime.run(lead, "", { runId: "rule-4" }).result;
      expect(status).toBe("failed");
      expect(error?.message).toContain("the child has failed");
      expect([leads, children]).toEqual([3, 1]);
    },
  },
];
