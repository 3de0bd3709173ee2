import { describe, expect, test } from "vitest";
import {
  BudgetExhaustedError,
  type ChatContext,
  defineTool,
  HookEvent,
  type HookPayloads,
  type Hooks,
  type LLMClient,
  type Logger,
  type ModelResponse,
  NO_HOOKS,
  type Pipeline,
  ProviderError,
  type RunEvent,
  RunId,
  textOf,
  toolContent,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { planLoop, toolLoop } from "@ravi/kernel/loop";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import * as z from "zod";
import { MemoryJournal } from "../src/journal/memory-journal.ts";
import { agent, ask, done, until } from "./support/helpers.ts";
import { team } from "./team.ts";

test("R21: the entry of an end says the time that was told of it", async () => {
  const journal = new MemoryJournal();
  const a = defineTool({ name: "a", description: "", input: z.object({}), execute: () => "a" });
  let now = 0;
  const clock = { now: () => ++now };
  const told: number[] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.LLM_END || event === HookEvent.TOOL_END,
    dispatch: (_, { at }) => void told.push(at),
    drain() {},
  };
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(scriptedModel(["one"]), ask("?"));
    await ctx.batch([{ kind: "tool", call: { id: "a", name: "a", arguments: "{}" }, tool: a }]);
    const refusing = { ...scriptedModel([]), generate: () => Promise.reject(new Error("no")) };
    await ctx.llm(refusing, ask("?")).catch(() => {});
    return done("");
  });
  await new Runtime({ journal, hooks, clock }).run(lead, "", { runId: RUN }).result;
  const ends = journal.load(RUN).filter(({ phase }) => phase === "end");
  expect(ends.map(({ at }) => at)).toEqual(told);
  expect(told).toHaveLength(3);
});

const RUN = RunId("r1");

const END = { value: undefined, done: true };

/** Changes every text and every list in it, as far as it can be changed. */
function spoil(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "string") Reflect.set(value, key, "spoilt");
    else spoil(inner);
  }
  if (Array.isArray(value) && !Object.isFrozen(value)) value.push("spoilt");
}

describe("observers", () => {
  const emits = agent("emits", async (ctx) => {
    for (let n = 0; n < 4; n++) {
      ctx.emit({ type: "progress", name: String(n), data: null });
      await ctx.waitFor("next");
    }
    return done("");
  });

  test.each<readonly [string, RuntimeOptions]>([
    ["without rules", {}],
    ["with a journal", { journal: new MemoryJournal() }],
  ])("T8: who spoils each event changes no call, no message and no result, %s", async (_, options) => {
    const made: unknown[] = [];
    const reported = { done: ["a half"] };
    const note = defineTool({
      name: "note",
      description: "",
      input: z.object({ text: z.string() }),
      execute: (args, { progress }) => {
        made.push(args);
        progress?.("half", reported);
        return toolContent([{ type: "text", text: "noted" }]);
      },
    });
    const model = scriptedModel([
      { toolCalls: [{ name: "note", arguments: { text: "as asked" } }] },
      { text: '{"of":["four"]}' },
    ]);
    const output = z.object({ of: z.array(z.string()) });
    const plan = planLoop("writer", { name: "writer", model, tools: [note], output });
    const writer = agent("writer", (ctx, inbox) => toolLoop(plan, ctx, inbox));
    const lead = agent("lead", async (ctx) => {
      const hired = await ctx.hire({ agent: writer, input: "go" });
      return done(JSON.stringify("result" in hired ? hired.result : hired));
    });
    const types = new Set<string>();
    const result = await new Runtime(options).run(lead, "", {
      onEvent({ event }) {
        types.add(event.type);
        spoil(event);
      },
    }).result;
    expect([...types]).toEqual(
      expect.arrayContaining(["toolCall", "toolResult", "progress", "usage", "completed"]),
    );
    expect(made).toEqual([{ text: "as asked" }]);
    expect(reported).toEqual({ done: ["a half"] });
    expect(JSON.stringify(model.calls)).toContain("noted");
    expect(JSON.stringify([model.calls, result])).not.toContain("spoilt");
    expect(JSON.parse(result.output)).toMatchObject({ status: "completed", structured: { of: ["four"] } });
  });

  test("J3: who breaks off with two reads pending gets an end for both, and takes nothing from anybody else", async () => {
    const runtime = new Runtime();
    const run = runtime.run(emits, "", { runId: RUN });
    const iterator = (): AsyncIterator<RunEvent> => run.events()[Symbol.asyncIterator]();
    const [leaves, stays] = [iterator(), iterator()];
    expect([(await leaves.next()).value, (await leaves.next()).value]).toMatchObject([
      { seq: 1 },
      { seq: 2 },
    ]);
    const pending = [leaves.next(), leaves.next()];
    expect(await leaves.return?.()).toEqual(END);
    expect(await Promise.all(pending)).toEqual([END, END]);
    const late = iterator();
    await runtime.deliver(RUN, "next", null);
    expect(await late.next()).toMatchObject({ value: { seq: 3 } });
    expect(await leaves.next()).toEqual(END);
    const seen = [await stays.next(), await stays.next(), await stays.next()];
    expect(seen).toMatchObject([{ value: { seq: 1 } }, { value: { seq: 2 } }, { value: { seq: 3 } }]);
    const last = [stays.next(), late.next(), late.next()];
    run.cancel("enough");
    await run.result;
    expect((await Promise.all(last)).map(({ done: isDone }) => isDone)).toEqual([false, false, true]);
    expect(await iterator().next()).toEqual(END);
  });

  test("J3: what somebody alone does with an event does not reach one who comes later", async () => {
    const runtime = new Runtime();
    const run = runtime.run(emits, "", { runId: RUN });
    const first = run.events()[Symbol.asyncIterator]();
    for (let n = 0; n < 2; n++) Reflect.set((await first.next()).value as RunEvent, "seq", -1);
    const second = run.events()[Symbol.asyncIterator]();
    await runtime.deliver(RUN, "next", null);
    expect(await second.next()).toMatchObject({ value: { seq: 3, event: { name: "1" } } });
    run.cancel("enough");
    await run.result;
  });
});

describe("J3: a function that is called with each event", () => {
  test("J3: hears what somebody hears who reads events(), each at once", async () => {
    const { lead } = team();
    const heard: RunEvent[] = [];
    const handle = new Runtime().run(lead, "2 3", { onEvent: (event) => void heard.push(event) });
    const read = await Array.fromAsync(handle.events());
    expect(heard).toEqual(read);
    expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, at) => at + 1));
    expect(heard.at(-1)).toMatchObject({ event: { type: "completed" } });
  });

  test("J3: cannot change the run by throwing, and is complained about", async () => {
    const { lead } = team();
    const said: string[] = [];
    const say = (message: string): void => void said.push(message);
    const logger: Logger = { debug: say, info: say, warn: say, error: say };
    const onEvent = (): never => {
      throw new Error("a broken observer");
    };
    expect(await new Runtime({ logger }).run(lead, "2 3", { onEvent }).result).toMatchObject({
      status: "completed",
    });
    expect(said.length).toBeGreaterThan(0);
    expect(said[0]).toContain("onEvent threw");
  });

  test("J3: hears a resumed run from the beginning, numbered from 1: what agents say, but no delta and no usage", async () => {
    const model = scriptedModel(["streamed in pieces"]);
    const asker = agent("asker", async (ctx) => {
      ctx.emit({ type: "step", step: 1 });
      await ctx.llm(model, ask("go"));
      return done(String(await ctx.waitFor("word")));
    });
    const journal = new MemoryJournal();
    const heard: RunEvent[] = [];
    const options = { onEvent: (event: RunEvent) => void heard.push(event) };
    const first = new Runtime({ journal });
    const begun = first.run(asker, "Hi", { runId: "r", ...options });
    await until(() => heard.some(({ event }) => event.type === "usage"));
    await first.close();
    await begun.result;
    expect(heard.map(({ event }) => event.type)).toContain("text");

    heard.length = 0;
    const second = new Runtime({ journal, agents: [asker] });
    const resumed = second.resume("r", options);
    await second.deliver("r", "word", "yes");
    await resumed.result;
    expect(heard.map(({ seq, event }) => `${seq} ${event.type}`)).toEqual([
      "1 started",
      "2 step",
      "3 completed",
    ]);
  });

  test("J3: hears nothing in a resumed run of an agent that had ended; the record has it", async () => {
    const helper = agent("helper", async () => done("helped"));
    const boss = agent("boss", async (ctx) => {
      await ctx.hire({ agent: helper, input: "" });
      return done(String(await ctx.waitFor("word")));
    });
    const journal = new MemoryJournal();
    const first = new Runtime({ journal });
    const begun = first.run(boss, "", { runId: "r" });
    await until(() => begun.status === "suspended");
    await first.close();
    await begun.result;

    const heard: RunEvent[] = [];
    const second = new Runtime({ journal, agents: [boss, helper] });
    const resumed = second.resume("r", { onEvent: (event) => void heard.push(event) });
    await second.deliver("r", "word", "yes");
    await resumed.result;
    const ended = (events: readonly RunEvent[]) =>
      events.flatMap(({ agentId, event }) => (event.type === "completed" ? [agentId] : []));
    expect(ended(heard)).toEqual(["boss"]);
    expect(ended(await second.recordedEvents("r"))).toEqual(["helper/1", "boss"]);
  });

  test("R10: sees the deltas of a model that streams, governed or not", async () => {
    for (const ports of [{}, { journal: new MemoryJournal() }]) {
      const model = scriptedModel(["streamed in pieces"]);
      const teller = agent("teller", async (ctx) =>
        done(String((await ctx.llm(model, ask("go"))).message.content)),
      );
      let text = "";
      const onEvent = ({ event }: RunEvent): void => {
        if (event.type === "text") text += event.delta;
      };
      const { output } = await new Runtime(ports).run(teller, "", { onEvent }).result;
      expect([text, output]).toEqual(["streamed in pieces", "streamed in pieces"]);
    }
  });

  test("R10: is told where an answer begins anew, of which a part had come when it failed", async () => {
    const twice: Pipeline<ChatContext> = { isNoop: false, admit() {}, run: (_, core) => core().catch(core) };
    for (const ports of [{}, { journal: new MemoryJournal() }]) {
      const cut = { text: "first half", fault: { type: "cut", afterDeltas: 1 } } as const;
      const model = scriptedModel([cut, "good", "more"], { chunkSize: 3 });
      const teller = agent("teller", async (ctx) => {
        await ctx.llm(model, ask("go"));
        return done(String((await ctx.llm(model, ask("on"))).message.content));
      });
      const shown: string[] = [];
      const onEvent = ({ event }: RunEvent): void => {
        if (event.type === "text") shown.push(event.delta);
        if (event.type === "progress") shown.push(event.name);
      };
      const runtime = new Runtime({ ...ports, pipelines: { chat: twice } });
      expect((await runtime.run(teller, "", { onEvent }).result).status).toBe("completed");
      expect(shown).toEqual(["fir", "answerRestarted", "goo", "d", "mor", "e"]);
    }
  });

  test("J3: what is no function is refused before anything begins", () => {
    const { lead } = team();
    expect(() => new Runtime().run(lead, "", { onEvent: "loud" as never })).toThrow(/onEvent.*a function/);
  });

  test("R24: one that is resumed is heard from there on", async () => {
    const waiter = agent("waiter", async (ctx) => done(String(await ctx.waitFor("go"))));
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, agents: [waiter] });
    const handle = first.run(waiter, "", { runId: "r" });
    await first.close();
    expect((await handle.result).status).toBe("suspended");
    const heard: string[] = [];
    const second = new Runtime({ journal, agents: [waiter] });
    const resumed = second.resume("r", { onEvent: ({ event }) => void heard.push(event.type) });
    await second.deliver("r", "go", "now");
    expect((await resumed.result).output).toBe("now");
    expect(heard).toEqual(["started", "completed"]);
  });
});

test("J3: a slow reader of many events reads all of them, in order", async () => {
  const busy = agent("busy", async (ctx) => {
    for (let n = 0; n < 5_000; n++) ctx.emit({ type: "progress", name: "n", data: n });
    return done("");
  });
  const handle = new Runtime().run(busy, "");
  const seen: unknown[] = [];
  for await (const { event } of handle.events()) {
    if (event.type === "progress") seen.push(event.data);
    if (seen.length % 1_000 === 0) await Promise.resolve();
  }
  expect(seen).toEqual(Array.from({ length: 5_000 }, (_, n) => n));
});

test("J3: what one observer does with an event does not reach another", async () => {
  const { lead } = team();
  const onEvent = (event: RunEvent): void => void Reflect.set(event, "seq", -1);
  const handle = new Runtime().run(lead, "2 3", { onEvent });
  const [first, second] = [Array.fromAsync(handle.events()), Array.fromAsync(handle.events())];
  const seqs = (await first).map(({ seq }) => seq);
  expect(seqs.length).toBeGreaterThan(5);
  expect(seqs).toEqual(seqs.map((_, at) => at + 1));
  expect((await second).map(({ seq }) => seq)).toEqual(seqs);
});

test("J3: somebody who asks for several events before the first is there gets each of them once, and the end", async () => {
  const { lead } = team();
  const events = new Runtime().run(lead, "2 3").events()[Symbol.asyncIterator]();
  const asked = [events.next(), events.next(), events.next()];
  const early = await Promise.all(asked);
  expect(early.map(({ value }) => (value as RunEvent).seq)).toEqual([1, 2, 3]);
  let last = 3;
  for (let next = await events.next(); next.done !== true; next = await events.next()) last = next.value.seq;
  expect(last).toBeGreaterThan(5);
  expect(await Promise.all([events.next(), events.next()])).toEqual([
    { value: undefined, done: true },
    { value: undefined, done: true },
  ]);
});

test("R23: what a tool takes from its context works, with and without rules around it", async () => {
  const model = scriptedModel(() => "inner answer");
  const asks = defineTool({
    name: "asks",
    description: "",
    input: z.object({}),
    async execute(_, { llm, scope, idempotencyKey, signal }) {
      const { message } = await llm(model, ask("inner"));
      return `${String(message.content)} ${scope.runId} ${idempotencyKey.length > 0} ${signal.aborted}`;
    },
  });
  for (const ports of [{}, { journal: new MemoryJournal() }]) {
    const caller = agent("caller", async (ctx) => {
      const call = { id: "c", name: "asks", arguments: "" };
      const [outcome] = await ctx.batch([{ kind: "tool", call, tool: asks }]);
      return done(JSON.stringify(outcome));
    });
    const { output } = await new Runtime(ports).run(caller, "", { runId: "r" }).result;
    expect(output).toContain("inner answer r true false");
  }
});

test("R23: under rules, a copy of what a tool and a provider get holds all of it", async () => {
  const inner = scriptedModel(() => "answer");
  const seen: unknown[] = [];
  const wrapper: LLMClient = {
    id: "wrapper",
    info: inner.info,
    generate(request, options) {
      const copy = { ...options };
      seen.push([copy.signal?.aborted, typeof copy.idempotencyKey]);
      return inner.generate(request, copy);
    },
  };
  const copies = defineTool({
    name: "copies",
    description: "",
    input: z.object({}),
    execute: (_, context) =>
      Object.keys({ ...context })
        .toSorted()
        .join(" "),
  });
  const caller = agent("caller", async (ctx) => {
    await ctx.llm(wrapper, ask("go"));
    const [outcome] = await ctx.batch([
      { kind: "tool", call: { id: "c", name: "copies", arguments: "" }, tool: copies },
    ]);
    return done(JSON.stringify(outcome));
  });
  const { output } = await new Runtime({ journal: new MemoryJournal() }).run(caller, "").result;
  expect(seen).toEqual([[false, "string"]]);
  expect(output).toContain("idempotencyKey llm progress scope signal");
});

test("another model that is called for the one that failed is told by an event, with both names", async () => {
  const named = (name: string, answer: () => Promise<ModelResponse>): LLMClient => ({
    id: name,
    info: { provider: "test", model: name },
    generate: answer,
  });
  const failing = (name: string) =>
    named(name, () => Promise.reject(new ProviderError({ kind: "OVERLOADED", message: `${name} is busy` })));
  const spare = named("spare", async () => ({
    message: { role: "assistant", content: "here" },
    finishReason: "stop",
  }));
  const models = [failing("second"), spare];
  const falling: Pipeline<ChatContext> = {
    isNoop: false,
    admit() {},
    async run(context, core) {
      // The same model again is no other one.
      for (const next of [context.model, ...models]) {
        try {
          return await core();
        } catch {
          context.model = next;
        }
      }
      return core();
    },
  };
  const asking = agent("asking", async (ctx) =>
    done(textOf((await ctx.llm(failing("own"), ask("go"))).message)),
  );
  const told: unknown[] = [];
  const onEvent = ({ event }: RunEvent): void => {
    if (event.type === "progress") told.push([event.name, event.data]);
  };
  const run = new Runtime({ pipelines: { chat: falling } }).run(asking, "", { onEvent });
  expect(await run.result).toMatchObject({ output: "here" });
  const key = expect.stringContaining("own");
  expect(told).toEqual([
    ["fallback", { key, from: "test:own", to: "test:second" }],
    ["fallback", { key, from: "test:second", to: "test:spare" }],
  ]);
});

describe("R24: a call that failed, told again by a replay", () => {
  test("names the model that it was sent to last, and why it failed, as the first time", async () => {
    const failing = (name: string): LLMClient => ({
      id: name,
      info: { provider: "test", model: name },
      generate: () => Promise.reject(new ProviderError({ kind: "AUTH", message: `${name} refused` })),
    });
    const spare = failing("spare");
    const falling: Pipeline<ChatContext> = {
      isNoop: false,
      admit() {},
      run: (context, core) =>
        core().catch(() => {
          context.model = spare;
          return core();
        }),
    };
    const told: unknown[] = [];
    const hooks: Hooks = {
      ...NO_HOOKS,
      has: (event) => event === HookEvent.LLM_END,
      dispatch(event, payload) {
        if (event !== HookEvent.LLM_END) return;
        const { model, status, error, replayed } = payload as HookPayloads["llm_end"];
        told.push({ model, status, message: error?.message, replayed });
      },
    };
    const journal = new MemoryJournal();
    const asking = agent("asking", async (ctx) => {
      await ctx.llm(failing("own"), ask("go")).catch(() => {});
      return done(String(await ctx.waitFor("a")));
    });
    const runtime = () => new Runtime({ journal, hooks, agents: [asking], pipelines: { chat: falling } });
    const first = runtime();
    const handle = first.run(asking, "", { runId: "r" });
    await until(() => handle.status === "suspended");
    await first.close();
    const second = runtime();
    await second.deliver("r", "a", "go on");
    expect(await second.resume("r").result).toMatchObject({ status: "completed" });
    const end = { model: "spare", status: "error", message: "spare refused" };
    expect(told).toEqual([end, { ...end, replayed: true }]);
  });

  test("says of each tool call how it ended and what was wrong, as the first time", async () => {
    const tool = (name: string, execute: () => unknown) =>
      defineTool({ name, description: "", input: z.object({}), execute });
    const tools = [
      tool("good", () => "fine"),
      tool("bad", () => new Error("no")),
      tool("worse", () => {
        throw new RangeError("never");
      }),
      tool("last", () => {
        throw new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "last" });
      }),
    ];
    const told: unknown[] = [];
    const hooks: Hooks = {
      ...NO_HOOKS,
      has: (event) => event === HookEvent.TOOL_END,
      dispatch(event, payload) {
        if (event !== HookEvent.TOOL_END) return;
        const { toolName, status, replayed, error } = payload as HookPayloads["tool_end"];
        told.push([toolName, status, replayed, error?.code, error?.message]);
      },
    };
    const journal = new MemoryJournal();
    const calling = agent("calling", async (ctx) => {
      for (const each of tools)
        await ctx.tool({ id: each.name, name: each.name, arguments: "{}" }, each).catch(() => {});
      return done(String(await ctx.waitFor("a")));
    });
    const runtime = () => new Runtime({ journal, hooks, agents: [calling] });
    const first = runtime();
    const handle = first.run(calling, "", { runId: "r" });
    await until(() => handle.status === "suspended");
    await first.close();
    const second = runtime();
    await second.deliver("r", "a", "go on");
    expect(await second.resume("r").result).toMatchObject({ status: "completed" });
    const ends = (replayed: true | undefined) => [
      ["good", "ok", replayed, undefined, undefined],
      ["bad", "error", replayed, "TOOL_ERROR", "no"],
      ["worse", "error", replayed, "TOOL_ERROR", "never"],
      ["last", "error", replayed, "BUDGET_EXHAUSTED", expect.stringContaining("last")],
    ];
    expect(told).toEqual([...ends(undefined), ...ends(true)]);
  });
});
