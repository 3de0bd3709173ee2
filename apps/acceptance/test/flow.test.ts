import { describe, expect, test } from "vitest";
import {
  type Agent,
  type ChatContext,
  HookEvent,
  type JournalRecord,
  type Layer,
  type LLMClient,
  MiddlewareTermination,
  Priority,
  ProviderError,
  RunId,
  textOf,
} from "@ravi/kernel";
import { ConditionalFlow, InformationAgent, ParallelFlow, SequentialFlow, type StepResult } from "@ravi/flow";
import { HookManager } from "@ravi/hooks";
import { MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { cutJournal } from "../src/cut-journal.ts";
import { agent, done, governed, PRICED } from "../src/leading.ts";

/** A model that repeats what it was told last, and counts what was paid. */
function echoing() {
  const model = scriptedModel(({ messages }) => `<${textOf(messages.at(-1) ?? { content: "" })}>`, PRICED);
  const member = (name: string): Agent => new ReActAgent({ name, model });
  return { model, member };
}

/** Three branches that vote, then one of two that goes on with the winner. */
function team() {
  const { model, member } = echoing();
  const flow = new SequentialFlow({
    name: "pipeline",
    accumulate: (input, before) => before.at(-1)?.output ?? input,
    steps: [
      new ParallelFlow({ name: "panel", branches: [member("a"), member("b"), member("c")], combine: "vote" }),
      new ConditionalFlow({
        name: "gate",
        if: (input) => input.startsWith("<"),
        whenTrue: member("yes"),
        otherwise: member("no"),
      }),
    ],
  });
  return { flow, paid: () => model.calls.length };
}

describe("R25: a flow under the rules", () => {
  test("is run like any agent, and so are its branches", async () => {
    const { flow, paid } = team();
    const result = await governed().run(flow, "x").result;
    expect(result).toMatchObject({ status: "completed", output: "<<x>>" });
    expect(paid()).toBe(4);
    expect(result.structured).toEqual([
      { name: "panel", status: "completed", output: "<x>" },
      { name: "gate", status: "completed", output: "<<x>>" },
    ]);
  });

  test.each([1, 2, 3, 4, 10])(
    "with %i seats it comes to the same answer: a branch without a seat works afterwards",
    async (maxAgents) => {
      const { flow, paid } = team();
      const result = await governed().run(flow, "x", { spawnBudget: { maxAgents } }).result;
      expect(result).toMatchObject({ status: "completed", output: "<<x>>" });
      expect(paid()).toBe(4);
    },
  );

  test.each([1, 2, 4])(
    "with %i seats a guardrail that stops one branch leaves the others, which were paid for",
    async (maxAgents) => {
      const guard: Layer<ChatContext> = async ({ request }, next) => {
        if (textOf(request.messages[0] ?? { content: "" }) === "bad")
          throw new MiddlewareTermination({ layer: "guard", reason: "no" });
        await next();
      };
      const { model } = echoing();
      const branches = ["good", "bad", "fine"].map(
        (name) => new ReActAgent({ name, model, instructions: name }),
      );
      const flow = new ParallelFlow({ name: "f", branches });
      const pipelines = { chat: new MiddlewarePipeline([guard]) };
      const result = await governed({ pipelines }).run(flow, "x", { spawnBudget: { maxAgents } }).result;
      expect(result).toMatchObject({ status: "partial", stopReason: "failed" });
      expect(result.structured?.map(({ status }) => status)).toEqual(["completed", "failed", "completed"]);
    },
  );

  test.each([1, 2, 4])(
    "with %i seats, when the time ends what was done by then is given",
    async (maxAgents) => {
      const { member } = echoing();
      const hang: LLMClient["generate"] = (_, options) =>
        new Promise((_resolve, reject) => {
          void clock.advance(2_000);
          options?.signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        });
      const slow = new ReActAgent({ name: "slow", model: { ...scriptedModel([], PRICED), generate: hang } });
      const limits = { spawnBudget: { maxAgents }, executionBudget: { deadlineS: 1 } };
      const clock = virtualClock({ now: 0 });
      const steps = new SequentialFlow({ name: "f", steps: [member("a"), slow, member("b")] });
      const sequence = await governed({ clock }).run(steps, "x", limits).result;
      expect(sequence).toMatchObject({ status: "partial", output: "<x>", stopReason: "deadline" });
    },
  );

  test("R15: a sequence that returns when it loses its slot gives what its last step has said", async () => {
    const { member } = echoing();
    const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: isFull, resolve: fill } = Promise.withResolvers<void>();
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const first = agent("first", async () => {
      begin();
      await isFull;
      return done("first said");
    });
    const flow = new SequentialFlow({ name: "flow", steps: [first, member("second")] });
    const urgent = agent("urgent", async () => {
      fill();
      await isOver;
      return done("in time");
    });
    const lead = agent("lead", async (ctx) => {
      const handle = await ctx.spawn(flow, { input: "x", priority: Priority.LOW, onPreempt: "return" });
      await isBegun;
      const more = { kind: "hire", agent: urgent, input: "x" } as const;
      // The second one waits for the slot of the flow's first step, so that the flow does not get it back.
      const hires = ctx.batch([
        { ...more, priority: Priority.CRITICAL },
        { ...more, priority: Priority.HIGH, onFull: "queue" },
      ]);
      await flowEnd;
      end();
      await hires;
      const outcome = await ctx.join(handle);
      return done("result" in outcome ? `${outcome.status}: ${outcome.result.output}` : outcome.status);
    });
    const { promise: flowEnd, resolve: flowHasEnded } = Promise.withResolvers<void>();
    const hooks = new HookManager();
    hooks.on(HookEvent.FLOW_END, () => flowHasEnded());
    const result = await governed({ hooks }).run(lead, "go", { spawnBudget: { maxAgents: 3 } }).result;
    expect(result.output).toBe("paused: first said");
  });

  test.each([
    ["its time", { status: "partial", output: "", stopReason: "deadline" }, 1],
    ["a failure", { status: "failed", error: { code: "PROVIDER_ERROR" } }, undefined],
  ])("of a flow whose only branch was ended by %s, so is the flow", async (_, ending, timeoutS) => {
    const clock = virtualClock({ now: 0 });
    const generate: LLMClient["generate"] = (__, options) =>
      new Promise((_resolve, reject) => {
        const down = new ProviderError({ kind: "SERVER_ERROR", message: "down", provider: "p", model: "m" });
        if (timeoutS === undefined) reject(down);
        void clock.advance(2_000);
        options?.signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      });
    const slow = new ReActAgent({ name: "slow", model: { ...scriptedModel([], PRICED), generate } });
    const flow = new ParallelFlow({ name: "f", branches: [{ agent: slow, timeoutS }] });
    expect(await governed({ clock }).run(flow, "x").result).toMatchObject(ending);
  });

  test("never more agents at once than there are seats", async () => {
    let running = 0;
    let most = 0;
    const counts = agent("counts", async (ctx, { input }) => {
      most = Math.max(most, ++running);
      for (let turn = 0; turn < 3; turn++) await ctx.now();
      running--;
      return done(input);
    });
    const flow = new ParallelFlow({ name: "f", branches: Array<Agent>(6).fill(counts) });
    const result = await governed().run(flow, "x", { spawnBudget: { maxAgents: 3 } }).result;
    expect(result.status).toBe("completed");
    expect(most).toBe(2);
  });

  test("a branch that was cut off by its budget leaves the flow partial", async () => {
    const { member } = echoing();
    const endless = new ReActAgent({
      name: "endless",
      model: scriptedModel(() => ({ text: "hm", finishReason: "length" as const }), PRICED),
    });
    const flow = new ParallelFlow({ name: "f", branches: [member("a"), endless] });
    const result = await governed().run(flow, "x").result;
    expect(result).toMatchObject({ status: "partial", stopReason: "length" });
    expect(result.output).toBe("## a\n\n<x>\n\n## endless\n\n(partial: length)\n\nhm");
  });

  test("R18: its budget holds all its branches together", async () => {
    const { member, model } = echoing();
    const flow = new ParallelFlow({
      name: "f",
      branches: ["a", "b", "c", "d", "e", "f"].map(member),
      executionBudget: { maxTurns: 3 },
    });
    const result = await governed().run(flow, "x").result;
    expect(result).toMatchObject({ status: "partial", stopReason: "budget" });
    expect(model.calls.length).toBeLessThanOrEqual(3);
  });
});

describe("R24: a crash in the middle of a flow, after any entry of the journal", () => {
  const ends = (records: readonly JournalRecord[]): number =>
    records.filter(({ key, phase }) => key.startsWith("llm:") && phase === "end").length;

  test.each([1, 3, 10])(
    "with %i seats it goes on to the same answer and pays nothing twice",
    async (maxAgents) => {
      const journal = new MemoryJournal();
      const whole = await governed({ journal }).run(team().flow, "x", {
        runId: "r",
        spawnBudget: { maxAgents },
      }).result;
      expect(whole.status).toBe("completed");
      const records = journal.load(RunId("r"));
      for (let count = 1; count <= records.length; count++) {
        const before = records.slice(0, count);
        const { flow, paid } = team();
        const result = await governed({ journal: cutJournal("r", before), agents: [flow] }).resume("r")
          .result;
        expect({ count, status: result.status, output: result.output, paid: paid() }).toEqual({
          count,
          status: "completed",
          output: whole.output,
          paid: 4 - ends(before),
        });
      }
    },
  );
});

describe("R25: a flow of which a part failed", () => {
  /** Of six documents with two steps each, the second steps of two fail while the server is down. */
  function batch() {
    const server = { isDown: true };
    const paid: string[] = [];
    const document = (n: number): Agent => {
      const step = (name: string): Agent => {
        const model = scriptedModel(() => {
          if (server.isDown && name === "check" && n % 3 === 0)
            return new ProviderError({ kind: "AUTH", message: "wrong key", status: 401 });
          paid.push(`${name} ${n}`);
          return `${name} ${n}`;
        }, PRICED);
        return new ReActAgent({ name: `${name}-${n}`, model });
      };
      return new SequentialFlow({ name: `document-${n}`, steps: [step("read"), step("check")] });
    };
    const branches = [1, 2, 3, 4, 5, 6].map((n) => ({ agent: document(n), onFull: "queue" as const }));
    const flow = new ParallelFlow({ name: "night", branches, combine: (results) => outputsOf(results) });
    return { flow, server, paid };
  }
  const outputsOf = (results: readonly StepResult[]): string =>
    results.map(({ status, output }) => (status === "completed" ? output : status)).join(", ");
  const DONE = [1, 2, 3, 4, 5, 6].map((n) => `check ${n}`).join(", ");
  const options = { runId: "r", spawnBudget: { maxAgents: 7 } };

  test("goes on with it when it is retried, and pays for nothing again", async () => {
    const { flow, server, paid } = batch();
    const journal = new MemoryJournal();
    const first = await governed({ journal }).run(flow, "x", options).result;
    expect(first).toMatchObject({ status: "partial", stopReason: "failed" });
    expect(first.output).toBe("check 1, check 2, partial, check 4, check 5, partial");
    server.isDown = false;
    const again = governed({ journal, agents: [flow] });
    const result = await again.resume("r", { retryFailed: true }).result;
    expect(result).toMatchObject({ status: "completed", output: DONE, inDoubt: [] });
    expect(paid.toSorted()).toEqual([...new Set(paid)].toSorted());
    expect(paid).toHaveLength(12);
  });

  test("can be cut off after each entry of that, and still pays for nothing again", async () => {
    const { flow, server } = batch();
    const journal = new MemoryJournal();
    await governed({ journal }).run(flow, "x", options).result;
    const failed = journal.load(RunId("r")).length;
    server.isDown = false;
    await governed({ journal, agents: [flow] }).resume("r", { retryFailed: true }).result;
    const records = journal.load(RunId("r"));
    for (let count = failed + 1; count < records.length; count++) {
      const life = batch();
      life.server.isDown = false;
      const cut = cutJournal("r", records.slice(0, count));
      const answered = records.slice(0, count).filter(isAnswer).length;
      const result = await governed({ journal: cut, agents: [life.flow] }).resume("r").result;
      expect({ count, status: result.status, output: result.output, paid: life.paid.length }).toEqual({
        count,
        status: "completed",
        output: DONE,
        paid: 12 - answered,
      });
    }
  });

  const isAnswer = ({ key, phase, body }: JournalRecord): boolean =>
    key.startsWith("llm:") && phase === "end" && body["error"] === undefined;
});

describe("R26: an information agent", () => {
  test("follows a run to its end and has the same sums as the run itself", async () => {
    const { flow } = team();
    const information = new InformationAgent();
    const handle = governed().run(flow, "x");
    const [metrics, result] = await Promise.all([information.watch(handle), handle.result]);
    expect(metrics).toMatchObject({ isOver: true, total: { calls: 4, errors: 0, costUsd: result.cost } });
    expect(metrics.total.usage).toEqual(result.usage);
    expect(metrics.agents.map(({ agentId, calls, status }) => `${agentId}: ${calls} ${status}`)).toEqual([
      "pipeline: 0 completed",
      "panel/1: 0 completed",
      "a/1.1: 1 completed",
      "b/1.2: 1 completed",
      "c/1.3: 1 completed",
      "gate/2: 0 completed",
      "yes/2.1: 1 completed",
    ]);
  });

  test("answers when it is hired, in the middle of the run that it watches", async () => {
    const { member } = echoing();
    const information = new InformationAgent();
    const lead = agent("lead", async (ctx) => {
      await ctx.hire({ agent: member("a"), input: "x" });
      const outcome = await ctx.hire({ agent: information, input: "" });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const handle = governed().run(lead, "x", { runId: "r" });
    const end = information.watch(handle);
    const { output } = await handle.result;
    expect(JSON.parse(output)).toMatchObject({ runId: "r", isOver: false, total: { calls: 1 } });
    expect((await end).isOver).toBe(true);
  });
});
