import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type ChatContext,
  defineTool,
  type JsonObject,
  type Logger,
  type Middleware,
  type Pipeline,
  type Span,
  type SpanContent,
  type Telemetry,
} from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done } from "./support/helpers.ts";

interface Started {
  readonly label: string;
  readonly parent: string | undefined;
  readonly attributes: JsonObject;
}

type RunWork = (work: () => void) => unknown;

/** Telemetry that knows which span is active, and can do what it should not. */
class Spans implements Telemetry {
  readonly started: Started[] = [];
  readonly ended: [label: string, key: string, value: unknown][] = [];
  readonly ends: string[] = [];
  /** The labels of the spans that the code that runs now is in. */
  readonly active: string[] = [];
  private readonly labels = new Map<Span, string>();
  private readonly runWork: RunWork;

  constructor(runWork: RunWork = (work) => work()) {
    this.runWork = runWork;
  }

  startSpan(name: string, attributes: JsonObject, parent?: Span): Span {
    const label = `${name} ${String(attributes["tool"] ?? attributes["model"] ?? attributes["agentId"])}`;
    this.started.push({ label, parent: parent && this.labels.get(parent), attributes });
    const span: Span = {
      setAttribute: (key, value) => void this.ended.push([label, key, value]),
      recordError: (error) => void this.ended.push([label, "error", Reflect.get(Object(error), "code")]),
      end: () => void this.ends.push(label),
      run: (work) => {
        this.active.push(label);
        try {
          return this.runWork(work);
        } finally {
          this.active.pop();
        }
      },
    };
    this.labels.set(span, label);
    return span;
  }

  metric(): void {}
}

class Wanting extends Spans {
  readonly content: [label: string, content: SpanContent][] = [];
  override startSpan(name: string, attributes: JsonObject, parent?: Span): Span {
    const span = super.startSpan(name, attributes, parent);
    span.addContent = (content) => void this.content.push([name, content]);
    return span;
  }
}

/** A tool that tells where it runs, and asks a model. */
function asking(spans: Spans, seen: string[]) {
  return defineTool({
    name: "look_up",
    description: "",
    input: z.object({}),
    execute: async (_, { llm }) => {
      seen.push(`tool in ${spans.active.at(-1)}`);
      await llm(scriptedModel(["yes"], { info: { provider: "scripted", model: "judge" } }), ask("is it?"));
      return "found";
    },
  });
}

/** A lead that asks a model, calls a tool, hires one helper and spawns another. */
function team(spans: Spans, seen: string[]) {
  const helper = agent("helper", async () => done(`helper in ${spans.active.at(-1)}`));
  const tool = asking(spans, seen);
  const model = scriptedModel(
    () => {
      seen.push(`model in ${spans.active.at(-1)}`);
      return "ok";
    },
    { info: { provider: "scripted", model: "small" } },
  );
  return agent("lead", async (ctx) => {
    seen.push(`lead in ${spans.active.at(-1)}`);
    const { message } = await ctx.llm(model, ask("1"));
    const { content } = await ctx.tool({ id: "c1", name: "look_up", arguments: "{}" }, tool);
    const hired = await ctx.hire({ agent: helper, input: "" });
    const spawned = await ctx.join(await ctx.spawn(helper, { input: "" }));
    for (const outcome of [hired, spawned]) if ("result" in outcome) seen.push(outcome.result.output);
    return done(`${String(message.content)} ${String(content)}`);
  });
}

test("J11: a call is inside of its agent, a model call of a tool inside of the tool, a hired agent inside of the one that hired it", async () => {
  const spans = new Spans();
  await new Runtime({ telemetry: spans }).run(team(spans, []), "").result;
  expect(spans.started.map(({ label, parent }) => [label, parent])).toEqual([
    ["ravi.run lead", undefined],
    ["ravi.llm small", "ravi.run lead"],
    ["ravi.tool look_up", "ravi.run lead"],
    ["ravi.llm judge", "ravi.tool look_up"],
    ["ravi.hire helper/1", "ravi.run lead"],
    ["ravi.hire helper/2", "ravi.run lead"],
  ]);
});

test("J11: agents, models and tools run inside of their span", async () => {
  const spans = new Spans();
  const seen: string[] = [];
  await new Runtime({ telemetry: spans }).run(team(spans, seen), "").result;
  expect(seen).toEqual([
    "lead in ravi.run lead",
    "model in ravi.llm small",
    "tool in ravi.tool look_up",
    "helper in ravi.hire helper/1",
    "helper in ravi.hire helper/2",
  ]);
  expect(spans.active).toEqual([]);
});

test("J11: layers run inside of the span of the call that they are around", async () => {
  const spans = new Spans();
  const seen: string[] = [];
  const layer: Middleware<ChatContext> = {
    level: "chat",
    process: async (_, next) => {
      seen.push(`layer in ${spans.active.at(-1)}`);
      await next();
    },
  };
  const chat: Pipeline<ChatContext> = {
    isNoop: false,
    hasAdmits: false,
    admit: () => {},
    run: async (context, core) => {
      const next = Object.assign(async () => core(), { again: async () => core() });
      await layer.process?.(context, next);
    },
  };
  await new Runtime({ telemetry: spans, pipelines: { chat } }).run(team(spans, seen), "").result;
  expect(seen.slice(0, 3)).toEqual([
    "lead in ravi.run lead",
    "layer in ravi.llm small",
    "model in ravi.llm small",
  ]);
});

describe("T8: a span that misbehaves changes nothing", () => {
  const boom = (): never => {
    throw new Error("no context manager");
  };
  const kinds: readonly [string, RunWork][] = [
    ["throws before the work", boom],
    ["throws after the work", (work) => [work(), boom()]],
    ["never does the work", () => {}],
    ["does the work twice", (work) => [work(), work()]],
    ["does the work again later", (work) => [work(), setImmediate(work)]],
    ["rejects", (work) => [work(), Promise.reject(new Error("later"))][1]],
  ];
  test.each(kinds)("T8: one that %s", async (_, runWork) => {
    const errors: unknown[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      warn() {},
      error: (message) => void errors.push(message),
    };
    const outcome = async (spans: Spans | undefined) => {
      const seen: string[] = [];
      const runtime = new Runtime({ telemetry: spans, logger });
      const { status, output, usage } = await runtime.run(team(spans ?? new Spans(), seen), "").result;
      return { status, output, usage, calls: seen.map((each) => each.split(" ")[0]) };
    };
    const plain = await outcome(undefined);
    expect(await outcome(new Spans(runWork))).toEqual(plain);
    expect(plain.output).toBe("ok found");
    for (const each of errors) expect(each).toContain("telemetry failed");
  });

  test("T8: an agent, a model and a tool that throw at once fail as they do without a span", async () => {
    const fails = (): never => {
      throw new RangeError("no");
    };
    const broken = defineTool({ name: "broken", description: "", input: z.object({}), execute: fails });
    const lead = agent("lead", async (ctx) => {
      const { content } = await ctx.tool({ id: "c", name: "broken", arguments: "{}" }, broken);
      const failed = await ctx.hire({ agent: agent("helper", fails), input: "" });
      return done(`${String(content)}, ${"error" in failed ? failed.error.message : ""}`);
    });
    const [plain, traced] = [new Runtime(), new Runtime({ telemetry: new Spans() })];
    const { output } = await traced.run(lead, "").result;
    expect(output).toBe((await plain.run(lead, "").result).output);
    expect(output).toBe("error: no, helper/1 failed: no");
  });
});

test("J11: a span says which conversation, call and priority it is about, and how its agent was stopped", async () => {
  const spans = new Spans();
  const cut = agent("cut", async () => ({ status: "partial", output: "half", stopReason: "steps" }));
  const versioned = { ...cut, version: "3" };
  await new Runtime({ telemetry: spans }).run(team(spans, []), "", { sessionId: "s1" }).result;
  for (const { attributes } of spans.started) expect(attributes).toMatchObject({ sessionId: "s1" });
  expect(spans.started.map(({ attributes }) => attributes["callId"])).toContain("c1");
  expect(spans.started[0]?.attributes).toMatchObject({ priority: 2 });
  expect(spans.ended).toContainEqual(["ravi.run lead", "stopReason", "done"]);

  await new Runtime({ telemetry: spans }).run(versioned, "").result;
  expect(spans.started.at(-1)?.attributes).toMatchObject({ agentVersion: "3" });
  expect(spans.ended.slice(-2)).toEqual([
    ["ravi.run cut", "status", "partial"],
    ["ravi.run cut", "stopReason", "steps"],
  ]);
});

test("J11: spans of calls that do not stop end with their agent, the inner ones first, and are told nothing of what comes later", async () => {
  const spans = new Wanting();
  const clock = virtualClock();
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const scripted = scriptedModel(["late"]);
  const stuck = Object.assign(Object.create(scripted) as typeof scripted, {
    generate: async (...given: Parameters<typeof scripted.generate>) => {
      asked.resolve();
      await released.promise;
      return scripted.generate(...given);
    },
  });
  const tool = defineTool({
    name: "look_up",
    description: "",
    input: z.object({}),
    execute: async (_, { llm }) => {
      await llm(stuck, ask("is it?")).catch(() => {});
      return "found";
    },
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.tool({ id: "c1", name: "look_up", arguments: "{}" }, tool);
    return done("late");
  });
  const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
  const run = new Runtime({ telemetry: spans, clock, logger }).run(lead, "");
  await asked.promise;
  run.cancel("enough");
  await clock.advance(1_000);
  expect((await run.result).status).toBe("cancelled");
  expect(spans.ends).toEqual(["ravi.run lead", "ravi.llm scripted", "ravi.tool look_up"]);
  for (const label of spans.ends) expect(spans.ended).toContainEqual([label, "error", "CANCELLED"]);
  const told = [spans.ended.length, spans.ends.length, spans.content.length];
  released.resolve();
  await new Promise(setImmediate);
  expect([spans.ended.length, spans.ends.length, spans.content.length]).toEqual(told);
});

test("J11: a suspended run says so, and the resumed one that it was begun before", async () => {
  const spans = new Spans();
  const waits = agent("waits", async (ctx) => done(JSON.stringify(await ctx.waitFor("colour"))));
  const journal = new MemoryJournal();
  const first = new Runtime({ telemetry: spans, journal });
  const handle = first.run(waits, "", { runId: "r1" });
  await first.close();
  expect((await handle.result).status).toBe("suspended");
  expect(spans.ended).toEqual([
    ["ravi.run waits", "status", "suspended"],
    ["ravi.run waits", "error", "SUSPENDED"],
  ]);
  const second = new Runtime({ telemetry: spans, journal, agents: [waits] });
  await second.deliver("r1", "colour", "blue");
  expect(await second.resume("r1").result).toMatchObject({ output: '"blue"' });
  expect(spans.started.map(({ attributes }) => attributes["replayed"])).toEqual([undefined, true]);
});

describe("content", () => {
  test("is told to a span that wants it: inputs, requests, answers, arguments and results", async () => {
    const spans = new Wanting();
    await new Runtime({ telemetry: spans }).run(team(spans, []), "Go").result;
    const told = spans.content.map(([name, content]) => [name, content.of]);
    expect(told.slice(0, 8)).toEqual([
      ["ravi.run", "input"],
      ["ravi.llm", "request"],
      ["ravi.llm", "response"],
      ["ravi.tool", "arguments"],
      ["ravi.llm", "request"],
      ["ravi.llm", "response"],
      ["ravi.tool", "result"],
      ["ravi.hire", "input"],
    ]);
    expect(told.at(-1)).toEqual(["ravi.run", "output"]);
    const texts = spans.content.flatMap(([, content]) => ("text" in content ? [content.text] : []));
    expect(texts).toEqual(expect.arrayContaining(["Go", "{}", "found", "ok found"]));
    expect(spans.content[1]?.[1]).toMatchObject({ request: { messages: [{ content: "1" }] } });
    expect(spans.content[2]?.[1]).toMatchObject({ response: { message: { content: "ok" } } });
  });

  test("T8: a span that fails with it changes nothing", async () => {
    const spans = new Wanting();
    spans.content.push = () => {
      throw new Error("too long");
    };
    const { output } = await new Runtime({ telemetry: spans }).run(team(spans, []), "Go").result;
    expect(output).toBe("ok found");
  });
});
