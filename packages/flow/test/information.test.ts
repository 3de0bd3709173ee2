import { describe, expect, test } from "vitest";
import {
  type AgentEvent,
  AgentId,
  CancellationError,
  DeadlineExceededError,
  errorToJSON,
  ExecId,
  type RunEvent,
  RunId,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { InformationAgent } from "@ravi/flow";
import { done } from "./support.ts";

const RUN = RunId("r");
/** As code that no compiler has seen may return it. */
const odd = (value: unknown): never => value as never;

/** A run whose events a test writes. */
function written(runId = RUN) {
  const events: RunEvent[] = [];
  let seq = 0;
  return {
    runId,
    tell(who: string, at: number, event: AgentEvent): void {
      const execId = who === "lead" ? ExecId(runId) : ExecId(runId, `hire:${who}#1`);
      events.push({ seq: ++seq, at, agentId: AgentId(who), execId, event });
    },
    async *events(): AsyncGenerator<RunEvent> {
      yield* events;
    },
  };
}

const usage = (inputTokens: number, outputTokens: number, costUsd: number | null): AgentEvent => ({
  type: "usage",
  usage: { inputTokens, outputTokens },
  costUsd,
});
const call: AgentEvent = { type: "toolCall", call: { id: "c", name: "t", arguments: "{}" } };
const result = (isError: boolean): AgentEvent => ({
  type: "toolResult",
  callId: "c",
  name: "t",
  content: "",
  isError,
});

describe("R26: an information agent", () => {
  test("does not count twice what a resumed run tells again: its calls and its errors", async () => {
    const run = written();
    for (const at of [1, 5]) {
      run.tell("lead", at, { type: "started", input: "go" });
      run.tell("lead", at, call);
      run.tell("lead", at, result(true));
    }
    run.tell("lead", 6, { type: "completed", result: done("x") });
    const { total } = await new InformationAgent().watch(run);
    expect(total).toMatchObject({ toolCalls: 1, errors: 1 });
  });

  test("counts no call that used nothing and cost nothing, and one that only cost something", async () => {
    const run = written();
    run.tell("lead", 1, usage(0, 0, 0));
    expect((await new InformationAgent().watch(run)).total).toMatchObject({ calls: 0, costUsd: 0 });
    run.tell("lead", 2, usage(0, 0, 0.25));
    run.tell("lead", 3, usage(0, 1, 0));
    expect((await new InformationAgent().watch(run)).total).toMatchObject({ calls: 2, costUsd: 0.25 });
  });

  test("says of an agent that has failed and is started again that it runs", async () => {
    const run = written();
    run.tell("lead", 1, { type: "started", input: "go" });
    run.tell("lead", 2, { type: "error", error: errorToJSON(new TypeError("oops")) });
    run.tell("lead", 3, { type: "started", input: "go" });
    const { agents } = await new InformationAgent().watch(run);
    expect(agents).toMatchObject([{ status: "running", errors: 0 }]);
  });

  test("T11: refuses what has no events, and follows that run once it has some", async () => {
    const watcher = new InformationAgent();
    for (const events of [() => odd(5), () => odd(undefined), () => odd([])]) {
      const refused = { code: "INVALID_VALUE", field: "InformationAgent.watch: events()" };
      await expect(watcher.watch({ runId: RUN, events })).rejects.toMatchObject(refused);
    }
    const broken = (): never => {
      throw new Error("closed");
    };
    await expect(watcher.watch({ runId: RUN, events: broken })).rejects.toThrow("closed");
    expect(watcher.metrics(RUN)?.isOver).toBe(true);
    const run = written();
    run.tell("lead", 1_000, call);
    expect(await watcher.watch(run)).toMatchObject({ isOver: true, agents: [{ agentId: "lead" }] });
  });

  test("adds up calls, tokens, cost, errors and durations, for each agent and in all", async () => {
    const run = written();
    run.tell("lead", 1_000, { type: "started", input: "go" });
    run.tell("lead", 1_100, usage(10, 5, 0.1));
    run.tell("lead", 1_100, call);
    run.tell("helper", 1_200, { type: "started", input: "x" });
    run.tell("helper", 1_300, usage(20, 5, 0.2));
    run.tell("helper", 1_400, call);
    run.tell("helper", 1_500, result(true));
    run.tell("helper", 1_600, { type: "error", error: errorToJSON(new Error("no")) });
    run.tell("lead", 1_700, result(false));
    run.tell("lead", 2_000, { type: "completed", result: done("x") });
    expect(await new InformationAgent().watch(run)).toEqual({
      runId: "r",
      isOver: true,
      agents: [
        {
          agentId: "lead",
          execId: "r",
          status: "completed",
          calls: 1,
          toolCalls: 1,
          usage: { inputTokens: 10, outputTokens: 5 },
          costUsd: 0.1,
          errors: 0,
          durationMs: 1_000,
        },
        {
          agentId: "helper",
          execId: "r/hire:helper#1",
          status: "failed",
          calls: 1,
          toolCalls: 1,
          usage: { inputTokens: 20, outputTokens: 5 },
          costUsd: 0.2,
          errors: 2,
          durationMs: 400,
        },
      ],
      total: {
        calls: 2,
        toolCalls: 2,
        usage: { inputTokens: 30, outputTokens: 10 },
        // Not 0.30000000000000004.
        costUsd: 0.3,
        errors: 2,
        durationMs: 1_000,
      },
    });
  });

  test("an agent that was cancelled has not failed", async () => {
    const run = written();
    const stopped = new CancellationError({ reason: "enough" });
    const late = new DeadlineExceededError({ deadline: 0 });
    run.tell("lead", 1, { type: "error", error: errorToJSON(stopped) });
    run.tell("late", 2, { type: "error", error: errorToJSON(late) });
    run.tell("broken", 3, { type: "error", error: errorToJSON(new Error("no")) });
    expect(await new InformationAgent().watch(run)).toMatchObject({
      agents: [
        { status: "cancelled", errors: 0 },
        { status: "cancelled", errors: 0 },
        { status: "failed", errors: 1 },
      ],
      total: { errors: 1 },
    });
  });

  test.each([5, null, undefined, "started", {}, { execId: "r" }, { execId: "r", event: "started" }])(
    "T11: refuses %j as an event, by name",
    async (wrong) => {
      const events = async function* (): AsyncGenerator<RunEvent> {
        yield odd(wrong);
      };
      await expect(new InformationAgent().watch({ runId: RUN, events })).rejects.toMatchObject({
        code: "INVALID_VALUE",
        field: "InformationAgent.watch: what events() yields",
      });
    },
  );

  test("a cost that is not known is not 0", async () => {
    const run = written();
    run.tell("lead", 1, usage(1, 1, null));
    run.tell("lead", 2, usage(1, 1, 0.5));
    expect((await new InformationAgent().watch(run)).total.costUsd).toBeNull();
  });

  test("answers while the run goes on, also as an agent; at the end it says that it is over", async () => {
    const more = Promise.withResolvers<void>();
    const run = written();
    run.tell("lead", 1, usage(1, 1, 0.5));
    const watched = {
      runId: RUN,
      async *events() {
        yield* run.events();
        await more.promise;
      },
    };
    const information = new InformationAgent({ name: "books" });
    expect([information.id, new InformationAgent().id]).toEqual(["books", "information"]);
    const end = information.watch(watched);
    const twice = information.watch(watched);
    await Promise.resolve().then(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    expect(information.metrics("r")).toMatchObject({ isOver: false, total: { calls: 1 } });
    const ctx = bareContext({ agent: information });
    const { output, structured } = await information.run(ctx, ctx.inbox("r"));
    expect(structured).toMatchObject({ isOver: false, total: { calls: 1, costUsd: 0.5 } });
    expect(JSON.parse(output)).toEqual(structured);
    more.resolve();
    expect(await end).toMatchObject({ isOver: true, total: { calls: 1 } });
    expect(await twice).toBe(await end);
  });

  test("a run that it does not watch is an error that says what to do", async () => {
    const information = new InformationAgent();
    const ctx = bareContext();
    await expect(information.run(ctx, ctx.inbox("other"))).rejects.toThrow(
      /"other".*call watch\(handle\) first/,
    );
    expect(information.metrics("other")).toBeUndefined();
  });

  test("is called information by default, remembers a hundred runs, and refuses what it does not know", async () => {
    const information = new InformationAgent();
    expect(information.id).toBe("information");
    const watch = (n: number): Promise<unknown> => information.watch(written(RunId(`r${n}`)));
    for (let n = 0; n < 100; n++) await watch(n);
    // Nothing has happened in it.
    expect(information.metrics("r0")?.total).toEqual({
      calls: 0,
      toolCalls: 0,
      usage: { inputTokens: 0, outputTokens: 0 },
      costUsd: 0,
      errors: 0,
      durationMs: 0,
    });
    await watch(100);
    expect(information.metrics("r0")).toBeUndefined();
    expect(information.metrics("r1")).toBeDefined();
    expect(() => new InformationAgent(odd({ maxRun: 5 }))).toThrow("did you mean maxRuns");
  });

  test("a resumed run is added to, and old runs are forgotten", async () => {
    const information = new InformationAgent({ maxRuns: 2 });
    for (const id of ["r", "r", "s", "t"]) {
      const run = written(RunId(id));
      run.tell("lead", 1, usage(1, 1, 0));
      await information.watch(run);
      if (id === "s") expect(information.metrics("r")?.total.calls).toBe(2);
    }
    expect(information.metrics("r")).toBeUndefined();
    expect(information.metrics("t")?.total.calls).toBe(1);
  });
});
