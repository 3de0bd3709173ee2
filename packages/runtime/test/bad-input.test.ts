import { describe, expect, test } from "vitest";
import { AgentId, type Agent, type AgentResult, type Hooks, Priority, type RunContext } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import {
  MemoryJournal,
  type ResumeOptions,
  Runtime,
  type RuntimeOptions,
  SqliteJournal,
} from "@ravi/runtime";
import { FakeLedger } from "./support/helpers.ts";

/** As somebody without a compiler would write it. */
const odd = (value: unknown): never => value as never;
const refusal = (field: string) => expect.objectContaining({ code: "INVALID_VALUE", field });
const agent: Agent = {
  id: AgentId("a"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};

describe("what cannot work is refused at once, and by its name", () => {
  test.each<[string, () => unknown]>([
    ["MemoryJournal.clock", () => new MemoryJournal({ clock: odd({}) })],
    ["options.clock", () => SqliteJournal.open("nowhere", { clock: odd({}) })],
    ["runtime options", () => new Runtime(odd(Promise.resolve({})))],
    ["runtime options.agents", () => new Runtime({ agents: odd(agent) })],
    ["runtime options.agents[1]", () => new Runtime({ agents: [agent, odd({ id: "b" })] })],
    ["runtime options.ambientScope", () => new Runtime({ ambientScope: odd("yes") })],
    // Without a journal there is nothing to restart from, so the policy would never be asked.
    [
      "runtime options.restart",
      () => new Runtime({ restart: { shouldRetry: () => true, delayMs: () => 0, reset() {} } }),
    ],
    ["agent", () => new Runtime().register(odd(undefined))],
    ["agent", () => new Runtime().register(odd({}))],
    ["agent", () => new Runtime().run(odd(undefined), "Hi", { version: "1" })],
    ["run options.metadata", () => new Runtime().run(agent, "Hi", { metadata: odd(new Map([["a", 1]])) })],
    ["run options.version", () => new Runtime().run(agent, "Hi", { version: odd(2) })],
    [
      "agent a: defaults.maxCostUsd",
      () => new Runtime().run({ ...agent, defaults: odd({ maxCostUsd: 1 }) }, "Hi"),
    ],
    [
      "resume options.onEvent",
      () => new Runtime({ journal: new MemoryJournal() }).resume("r", { onEvent: odd(1) }),
    ],
  ])("R24: %s", (field, attempt) => {
    expect(attempt).toThrow(refusal(field));
  });

  test("R24: a headcount or a ledger instead of what makes one for each run is refused, and said how to", () => {
    const made = new FakeLedger();
    expect(() => new Runtime({ ledger: odd(made) })).toThrow(
      /ledger is an object; expected a function .* \(root\) =>/,
    );
    expect(() => new Runtime({ headcount: odd({}) })).toThrow(
      /expected a function .* \(root\) => new SpawnTracker/,
    );
  });

  test("R24: a cancellation without a reason is refused by that name, and stops nothing", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal() });
    const begun = runtime.run(agent, "Hi", { runId: "r" });
    await expect(runtime.cancel("r", odd(undefined))).rejects.toThrow(refusal("cancel reason"));
    expect((await begun.result).status).toBe("completed");
  });

  test("R24: a decision that is none is refused of a run that is over, too", async () => {
    const runtime = new Runtime({ journal: new MemoryJournal() });
    await runtime.run(agent, "Hi", { runId: "r" }).result;
    for (const decisions of ["retry", [], new Map(), { "tool:pay#1": "rety" }])
      await expect(runtime.resume("r", { decisions: odd(decisions) }).result).rejects.toMatchObject({
        code: "INVALID_VALUE",
      });
    expect((await runtime.resume("r").result).status).toBe("completed");
  });

  test.each([[null], [[]], [new Map()], [Promise.resolve({})]])(
    "R11: layers of an agent's own that nobody can find are refused: %o",
    async (pipelines) => {
      const guarded = { ...agent, pipelines: odd(pipelines) };
      await expect(new Runtime().run(guarded, "Hi").result).rejects.toThrow(refusal("agent a: pipelines"));
    },
  );

  test.each([[null], ["told"], [{}], [{ has: () => true }]])(
    "R20: hooks of an agent's own that nobody can tell anything are refused: %o",
    async (hooks) => {
      await expect(new Runtime().run({ ...agent, hooks: odd(hooks) }, "Hi").result).rejects.toThrow(
        refusal("agent a: hooks"),
      );
    },
  );
});

describe("R23: an agent that is not compiled is told what is wrong with what it asks for", () => {
  const model = scriptedModel(() => "yes", { record: false });
  const messages = [{ role: "user", content: "Hi" }] as const;
  const generate = (): never => {
    throw new Error("was called");
  };

  test.each<[string, readonly unknown[], string]>([
    ["model", [{ messages }], "expected a model"],
    ["request", [model], "as in ctx.llm(model, { messages })"],
    ["request", [model, messages], "as in ctx.llm(model, { messages })"],
    ["request", [model, "Hi"], "as in ctx.llm(model, { messages })"],
    ["request.messages", [model, {}], "expected an array of messages"],
    ["request.messages", [model, { messages: "Hi" }], "expected an array of messages"],
    ["model.id", [{ generate, info: model.info }, { messages }], "expected a string"],
    ["model.info", [{ generate, id: "m" }, { messages }], "expected { provider, model }"],
  ])("R23: ctx.llm names %s", async (field, given, said) => {
    const refused = expect.objectContaining({ code: "INVALID_VALUE", field });
    for (const options of [{}, { journal: new MemoryJournal() }]) {
      const told: unknown[] = [];
      const careless: Agent = {
        id: AgentId("a"),
        run: async (ctx) => {
          const [first, second] = given;
          told[0] = await ctx.llm(odd(first), odd(second)).catch((error: unknown) => error);
          const leaf = { kind: "llm", model: first, request: second };
          told[1] = await ctx.batch([odd(leaf)]).catch((error: unknown) => error);
          // Nothing was begun, so the next call is not in its way.
          const { message } = await ctx.llm(model, { messages });
          return { status: "completed", output: String(message.content), stopReason: "done" };
        },
      };
      const result = await new Runtime(options).run(careless, "Hi").result;
      expect(told[0]).toEqual(refused);
      expect(String(told[0])).toContain(said);
      expect(told[1]).toMatchObject({ code: "INVALID_VALUE", field: `leaf.${field}` });
      expect(result).toMatchObject({ status: "completed", output: "yes" });
    }
  });

  test("R23: ctx.emit takes nothing but an event", async () => {
    const seen: unknown[] = [];
    const careless: Agent = {
      id: AgentId("a"),
      run: async (ctx) => {
        for (const wrong of ["working", undefined, null, {}])
          expect(() => ctx.emit(odd(wrong))).toThrow(refusal("event"));
        ctx.emit({ type: "progress", name: "half", data: 0.5 });
        return { status: "completed", output: "", stopReason: "done" };
      },
    };
    const onEvent = ({ event }: { event: { readonly type: string } }): unknown => seen.push(event.type);
    const result = await new Runtime().run(careless, "Hi", { onEvent }).result;
    expect(result.status).toBe("completed");
    expect(seen).toEqual(["started", "progress", "completed"]);
  });
});

describe("what can work is not refused, and nothing of it is left behind", () => {
  const listening = (told: string[]): Hooks => ({
    has: () => true,
    dispatch: (event) => void told.push(event),
  });

  test("R24: a run that is resumed has the signal and the listener that its options inherit", async () => {
    const told: string[] = [];
    const waiting: Agent = {
      ...agent,
      run: (ctx) => ctx.waitFor("ever").then(() => agent.run(ctx, odd(""))),
    };
    const journal = new MemoryJournal();
    const first = new Runtime({ journal });
    const begun = first.run(waiting, "Hi", { runId: "r" });
    await first.close();
    await begun.result;
    const second = new Runtime({ journal, agents: [waiting] });
    const options: ResumeOptions = {
      signal: AbortSignal.abort(),
      onEvent: ({ event }) => void told.push(event.type),
    };
    const { status } = await second.resume("r", Object.create(options) as ResumeOptions).result;
    expect(status).toBe("cancelled");
    expect(told.length).toBeGreaterThan(0);
  });

  test("R24: services that options have of their class, or inherit, serve", async () => {
    const told: string[] = [];
    const hooks = listening(told);
    class Options implements RuntimeOptions {
      get hooks(): Hooks {
        return hooks;
      }
    }
    for (const options of [new Options(), Object.create({ hooks }) as RuntimeOptions])
      await new Runtime(options).run(agent, "Hi").result;
    expect(told).toEqual(["run_start", "run_end", "run_start", "run_end"]);
  });

  test("R24: a class with the methods of a service is one, and so is a function that has them", async () => {
    const told: string[] = [];
    // oxlint-disable-next-line typescript/no-extraneous-class -- as some write their log
    class Log {
      static debug(): void {}
      static info(): void {}
      static warn(): void {}
      static error(message: string): void {
        told.push(message);
      }
    }
    const failing: Hooks = {
      has: () => true,
      dispatch: () => {
        throw new Error("no");
      },
    };
    await new Runtime({ logger: Log, hooks: failing }).run(agent, "Hi").result;
    await new Runtime({ logger: Object.assign(() => {}, console, { error: Log.error }), hooks: failing }).run(
      agent,
      "Hi",
    ).result;
    expect(told).toHaveLength(4);
  });
});

describe("T11: an agent that asks for what there is not is told which part of it is wrong", () => {
  const call = { id: "1", name: "t", arguments: "{}" };
  test.each<[string, (ctx: RunContext) => Promise<unknown>]>([
    ["hire.agent", (ctx) => ctx.hire(odd(undefined))],
    ["hire.agent", (ctx) => ctx.hire(odd({ input: "" }))],
    ["hire.agent.id", (ctx) => ctx.hire({ agent: odd({ run: agent.run }), input: "" })],
    ["hire.input", (ctx) => ctx.hire({ agent, input: odd(undefined) })],
    ["spawn.agent", (ctx) => ctx.spawn(odd(undefined), { input: "" })],
    ["spawn", (ctx) => ctx.spawn(agent, odd(undefined))],
    ["join.handle", (ctx) => ctx.join(odd(undefined))],
    ["ask.handle", (ctx) => ctx.ask(odd("a/1"), "?")],
    ["tool.tool", (ctx) => ctx.tool(call, odd(undefined))],
    ["leaf.agent.id", (ctx) => ctx.batch([{ kind: "hire", agent: odd({ run: agent.run }), input: "" }])],
  ])("%s", async (field, ask) => {
    for (const runtime of [new Runtime(), new Runtime({ journal: new MemoryJournal() })]) {
      let refused: unknown;
      const asking: Agent = {
        ...agent,
        run: async (ctx, inbox) => {
          // Not thrown, but a promise that rejects.
          refused = await ask(ctx).catch((error: unknown) => error);
          return agent.run(ctx, inbox);
        },
      };
      expect(await runtime.run(asking, "").result).toMatchObject({ status: "completed" });
      expect(refused).toEqual(refusal(field));
    }
  });

  const SOUND = { inputTokens: 1, maxOutputTokens: 1, price: { usd: 1 } };
  test.each([
    [undefined],
    [5],
    [{}],
    [{ ...SOUND, price: undefined }],
    [{ ...SOUND, price: { usd: "1" } }],
    [{ ...SOUND, inputTokens: NaN }],
    [{ ...SOUND, maxOutputTokens: "1" }],
    [{ ...SOUND, price: { usd: -1 } }],
  ])("the estimate of a meter is none: %o", async (estimate) => {
    const model = scriptedModel(() => "ok");
    const asking: Agent = {
      ...agent,
      run: async (ctx, inbox) => {
        await ctx.llm(model, { messages: [] });
        return agent.run(ctx, inbox);
      },
    };
    const price = () => ({ usd: 1 });
    for (const made of [() => odd(estimate), () => odd(Promise.resolve(estimate))]) {
      const ledger = () => new FakeLedger();
      const result = await new Runtime({ meter: { estimate: made, price }, ledger }).run(asking, "").result;
      expect(result).toMatchObject({ status: "failed", cost: 0 });
      expect(result.error).toEqual(refusal("the estimate of scripted:scripted"));
    }
    expect(model.calls).toHaveLength(0);
  });
});

test("T11: a status that there is not would match no run: it is refused", async () => {
  const journal = new MemoryJournal();
  const prune = () => journal.prune({ olderThanMs: 0, statuses: ["failed", odd("complete")] });
  expect(prune).toThrow(refusal("prune.statuses[1]"));
  expect(journal.prune({ olderThanMs: 0, statuses: ["pending", "failed"] })).toEqual([]);
});

describe("R24: what options inherit is not left behind where they are copied", () => {
  test("a child that is spawned is as urgent as was said, and a limit that nobody keeps is refused", async () => {
    let seen: number | undefined;
    const child: Agent = { ...agent, run: async (ctx) => ((seen = ctx.supervision.priority), ended) };
    const ended: AgentResult = { status: "completed", output: "", stopReason: "done" };
    const inherited = <T>(terms: T): T => Object.create(terms as object) as T;
    const lead: Agent = {
      id: AgentId("lead"),
      run: async (ctx) => {
        await ctx.join(await ctx.spawn(child, inherited({ input: "go", priority: Priority.HIGH })));
        await ctx.spawn(child, inherited({ input: "go", executionBudget: { maxTurns: 3 } }));
        return ended;
      },
    };
    const { error } = await new Runtime().run(lead, "Hi").result;
    expect(error?.message).toMatch(/executionBudget/);
    expect(seen).toBe(Priority.HIGH);
  });

  test("a run that is resumed is stopped by the signal", async () => {
    const journal = new MemoryJournal();
    const waits: Agent = {
      id: AgentId("waits"),
      run: async (ctx) => {
        await ctx.waitFor("never");
        return { status: "completed", output: "", stopReason: "done" };
      },
    };
    const first = new Runtime({ journal });
    first.run(waits, "Hi", { runId: "r" });
    await first.close();
    const controller = new AbortController();
    const options = Object.create({ signal: controller.signal }) as { signal: AbortSignal };
    const resumed = new Runtime({ journal, agents: [waits] }).resume("r", options);
    controller.abort();
    expect(await resumed.result).toMatchObject({ status: "cancelled" });
  });
});
