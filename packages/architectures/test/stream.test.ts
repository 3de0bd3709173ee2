import { describe, expect, test } from "vitest";
import type { AgentEvent, Architecture, RunEvent } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { PlanAndExecute, ReAct, StrategyAgent } from "@ravi/architectures";
import { scriptedModel } from "@ravi/testing";
import { add } from "./support.ts";
import { play, SCENES } from "./trees.ts";

const SCRIPT = [
  "1. add\n2. tell",
  { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] },
  "3",
  "told",
  "three",
];

function agent(architecture: Architecture = new PlanAndExecute()): StrategyAgent {
  const { id, info, ...model } = scriptedModel(SCRIPT);
  return new StrategyAgent({
    name: "thinker",
    model: { id, info, generate: model.generate },
    tools: [add],
    architecture,
  });
}

describe("J3: the same events in the same order, numbered, in both modes", () => {
  test("read along, or not", async () => {
    const heard: RunEvent[] = [];
    const ctx = bareContext({ onEvent: (event) => heard.push(event) });
    const result = await agent().run(ctx, ctx.inbox("go"));

    const context = bareContext();
    const along: { seq: number; event: AgentEvent }[] = [];
    for await (const event of agent().stream(context, context.inbox("go"))) along.push(event);
    expect(along.map(({ seq }) => seq)).toEqual(along.map((_, at) => at + 1));
    expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, at) => at + 1));
    // What models say is told by the context alone.
    const apart = heard.filter(({ event }) => event.type !== "text");
    expect(heard.length).toBeGreaterThan(apart.length);
    expect(along[0]?.event).toEqual({ type: "started", input: "go" });
    expect(along.at(-1)?.event).toEqual({ type: "completed", result });
    expect(along.slice(1, -1).map(({ event }) => event)).toEqual(apart.map(({ event }) => event));
    expect(apart.map(({ event }) => event.type)).toEqual(
      expect.arrayContaining(["toolCall", "toolResult", "progress"]),
    );
  });

  test("J7: a strategy itself never says that it started or completed", async () => {
    const seen: string[] = [];
    const ctx = bareContext({ onEvent: ({ event }) => seen.push(event.type) });
    await agent().run(ctx, ctx.inbox("go"));
    expect(seen).not.toContain("started");
    expect(seen).not.toContain("completed");
  });

  test.each(Object.entries(SCENES))(
    "J6: %s has its name, says who works for it, and runs as an async generator",
    (name, { architecture }) => {
      const strategy = architecture();
      expect(strategy.name.replaceAll("-", "")).toBe(name.toLowerCase());
      for (const worker of Object.values(strategy.declaredWorkers()))
        expect(worker.id).toEqual(expect.any(String));
      const events: unknown = Reflect.apply(strategy.run, strategy, []);
      expect(Object.prototype.toString.call(events)).toBe("[object AsyncGenerator]");
    },
  );

  test("J6: nothing is asked before somebody reads, and nothing after the last event that was read", async () => {
    const model = scriptedModel(SCRIPT);
    const ctx = bareContext();
    const stream = new StrategyAgent({
      name: "a",
      model,
      tools: [add],
      architecture: new PlanAndExecute(),
    }).stream(ctx, ctx.inbox("go"));
    expect(model.calls).toHaveLength(0);
    await stream.next();
    expect(model.calls).toHaveLength(0);
    await stream.next();
    expect(model.calls).toHaveLength(1);
    await new Promise(setImmediate);
    expect(model.calls).toHaveLength(1);
    await stream.return({ status: "partial", output: "", stopReason: "steps" });
  });

  test("a reader who breaks off ends the run: it is cancelled and cleans up", async () => {
    const steps: string[] = [];
    const architecture: Architecture = {
      name: "test",
      async *run() {
        try {
          yield { type: "step", step: 1 };
          steps.push("went on");
        } finally {
          steps.push("cleaned up");
        }
      },
      declaredWorkers: () => ({}),
    };
    const ctx = bareContext();
    for await (const { event } of agent(architecture).stream(ctx, ctx.inbox("go")))
      if (event.type === "step") break;
    expect(steps).toEqual(["cleaned up"]);
    expect(ctx.meta.cancellation.isCancelled).toBe(true);
  });

  test("breaking off does not wait for a call that hangs: it is aborted", async () => {
    const model = scriptedModel([{ text: "never", fault: { type: "hang" } }]);
    const ctx = bareContext();
    const stream = new StrategyAgent({ name: "a", model, architecture: new ReAct() }).stream(
      ctx,
      ctx.inbox("go"),
    );
    await stream.next();
    await stream.next();
    const waiting = stream.next();
    await stream.return({ status: "partial", output: "", stopReason: "steps" });
    expect(await waiting).toMatchObject({ done: true });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  test.each(Object.keys(SCENES))(
    "a reader of %s may break off after any event: nothing more is done",
    async (name) => {
      for (let most = 1, over = false; !over; most++) {
        const told: AgentEvent[] = [];
        const ctx = bareContext({ onEvent: ({ event }) => told.push(event) });
        let seen = 0;
        over = true;
        for await (const { seq } of play(name).stream(ctx, ctx.inbox("the task"))) {
          expect(seq).toBe(++seen);
          if (seen < most) continue;
          over = false;
          break;
        }
        const before = told.length;
        await new Promise(setImmediate);
        expect(told).toHaveLength(before);
      }
    },
  );

  test("asked for several at once, events come in the order asked", async () => {
    const ctx = bareContext();
    const stream = agent().stream(ctx, ctx.inbox("go"));
    const all = await Promise.all(Array.from({ length: 30 }, () => stream.next()));
    const seqs = all.flatMap(({ done, value }) => (done === true ? [] : [value.seq]));
    expect(seqs.length).toBeGreaterThan(5);
    expect(seqs).toEqual(seqs.map((_, at) => at + 1));
    expect(all.at(-1)).toMatchObject({ done: true, value: { status: "completed", output: "three" } });
  });

  test.each(["return", "throw"] as const)("%s before, in between and after ends it, once", async (how) => {
    const gone = { status: "partial", output: "", stopReason: "steps" } as const;
    for (const after of [0, 1, 2, 99]) {
      const ctx = bareContext();
      const stream = agent().stream(ctx, ctx.inbox("go"));
      let ended = false;
      for (let n = 0; n < after && !ended; n++) ended = (await stream.next()).done === true;
      const end = how === "return" ? stream.return(gone) : stream.throw(new Error("reader"));
      if (how === "return") expect(await end).toEqual({ done: true, value: gone });
      else await expect(end).rejects.toThrow("reader");
      expect(await stream.next()).toMatchObject({ done: true });
      expect(await stream.return(gone)).toEqual({ done: true, value: gone });
      expect(ctx.meta.cancellation.isCancelled).toBe(!ended);
    }
  });

  test("R9: a run that is cancelled says so to its reader, with the reason", async () => {
    const ctx = bareContext();
    const stream = agent().stream(ctx, ctx.inbox("go"));
    await stream.next();
    ctx.meta.cancellation.cancel("enough");
    await expect(Array.fromAsync(stream)).rejects.toMatchObject({ code: "CANCELLED", reason: "enough" });
    expect(await stream.next()).toMatchObject({ done: true, value: { status: "partial", output: "" } });
  });

  test("a failure is thrown to the reader, once", async () => {
    const model = scriptedModel([new Error("overloaded")]);
    const ctx = bareContext();
    const stream = new StrategyAgent({ name: "a", model, architecture: new ReAct() }).stream(
      ctx,
      ctx.inbox("go"),
    );
    await stream.next();
    await stream.next();
    await expect(stream.next()).rejects.toThrow("overloaded");
    expect(await stream.next()).toMatchObject({ done: true });
  });
});
