import { createServer, get } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { context, createNoopMeter, type Meter, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  TracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace";
import {
  type Agent,
  AgentId,
  type AgentResult,
  type Clock,
  defineTool,
  executionBudget,
  type Logger,
  ProviderError,
  type RunContext,
  type Telemetry,
} from "@ravi/kernel";
import { MiddlewarePipeline, piiRedaction, tracing } from "@ravi/middleware";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { otelTelemetry } from "@ravi/telemetry-otel";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { turns, World } from "./support/scarce.ts";

const done = (output: string): AgentResult => ({ status: "completed", output, stopReason: "done" });
const agent = (name: string, run: (ctx: RunContext) => Promise<AgentResult>): Agent => ({
  id: AgentId(name),
  run,
});
const ask = { messages: [{ role: "user", content: "?" }] } as const;

function recording(...more: readonly SpanProcessor[]) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [...more, new SimpleSpanProcessor({ exporter })] });
  const tracer = provider.getTracer("test");
  return { tracer, telemetry: otelTelemetry({ tracer }), ended: () => exporter.getFinishedSpans() };
}

/** Until the end of the test, spans can be active, as an application has it that starts the SDK for Node. */
function activeSpans(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(() => context.disable());
}

/** The spans as a tree: each with those inside of it, in the order of their names. */
function treeOf(spans: readonly ReadableSpan[]): string[] {
  const lines: string[] = [];
  const add = (parent: string | undefined, indent: string): void => {
    const inside = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent);
    for (const span of inside.toSorted((a, b) => Number(idOf(a) > idOf(b)) - Number(idOf(a) < idOf(b)))) {
      lines.push(`${indent}${span.name}`);
      add(span.spanContext().spanId, `${indent}  `);
    }
  };
  add(undefined, "");
  return lines;
}

const idOf = ({ name, attributes }: ReadableSpan): string =>
  `${String(attributes["ravi.exec.id"])} ${String(attributes["ravi.call.key"])} ${name}`;
const tracesOf = (spans: readonly ReadableSpan[]): number =>
  new Set(spans.map((span) => span.spanContext().traceId)).size;
const statusOf = (spans: readonly ReadableSpan[], name: string): unknown =>
  spans.find((span) => span.name === name)?.attributes["ravi.status"];

const noted = defineTool({ name: "note", description: "", input: z.object({}), execute: () => "noted" });

/** A lead with two helpers at once, each with a tool. */
function team() {
  const clerk = (name: string) =>
    new ReActAgent({
      name,
      model: scriptedModel([{ toolCalls: [{ name: "note", arguments: {} }] }, `${name} is done`]),
      tools: [noted],
    });
  const handoff = (name: string) => ({ name: `handoff_${name}`, arguments: { task: "Note it" } });
  return new OrchestratorAgent({
    name: "lead",
    model: scriptedModel([{ toolCalls: [handoff("ann"), handoff("bob")] }, "all done"]),
    subAgents: [clerk("ann"), clerk("bob")].map((each) => ({ agent: each })),
  });
}

const TEAM = [
  "invoke_agent lead",
  "  chat scripted",
  "  chat scripted",
  "  invoke_agent ann",
  "    chat scripted",
  "    chat scripted",
  "    execute_tool note",
  "  invoke_agent bob",
  "    chat scripted",
  "    chat scripted",
  "    execute_tool note",
];

describe("one trace for a tree", () => {
  test("calls are inside of their agent, and agents that work at once inside of the one that hired them", async () => {
    const { telemetry, ended } = recording();
    const result = await new Runtime({ telemetry }).run(team(), "Go", { sessionId: "talk", runId: "r1" })
      .result;
    expect(result.status).toBe("completed");
    expect(treeOf(ended())).toEqual(TEAM);
    expect(tracesOf(ended())).toBe(1);
    for (const { attributes } of ended()) {
      expect(attributes).toMatchObject({ "ravi.run.id": "r1", "gen_ai.conversation.id": "talk" });
      expect(attributes).toHaveProperty(["gen_ai.operation.name"]);
    }
  });

  test("the same without a context manager and with one", async () => {
    activeSpans();
    const { telemetry, ended } = recording();
    await new Runtime({ telemetry }).run(team(), "Go").result;
    expect(treeOf(ended())).toEqual(TEAM);
  });

  test("1,000 runs of one runtime at once are 1,000 traces, although their agents have the same ids", async () => {
    activeSpans();
    const { telemetry, ended } = recording();
    const model = scriptedModel(() => "ok");
    const helper = agent("helper", async (ctx) => {
      await ctx.llm(model, ask);
      return done("ok");
    });
    const lead = agent("lead", async (ctx) => {
      const leaf = { kind: "hire", agent: helper, input: "" } as const;
      await ctx.batch([leaf, leaf]);
      return done("ok");
    });
    const runtime = new Runtime({ telemetry });
    await Promise.all(
      Array.from({ length: 1_000 }, (_, at) => runtime.run(lead, "", { runId: `r${at}` }).result),
    );
    const runs = Map.groupBy(ended(), (span) => span.spanContext().traceId);
    expect(runs.size).toBe(1_000);
    for (const spans of runs.values()) {
      expect(new Set(spans.map(({ attributes }) => attributes["ravi.run.id"])).size).toBe(1);
      expect(treeOf(spans)).toEqual([
        "invoke_agent lead",
        "  invoke_agent helper",
        "    chat scripted",
        "  invoke_agent helper",
        "    chat scripted",
      ]);
    }
  });

  test("what a spawned agent does after its parent has ended is inside of it still", async () => {
    const { telemetry, ended } = recording();
    const { promise: parentEnded, resolve } = Promise.withResolvers<void>();
    const child = agent("child", async (ctx) => {
      await parentEnded;
      await ctx.llm(scriptedModel(["late"]), ask).catch(() => {});
      return done("late");
    });
    const lead = agent("lead", async (ctx) => {
      await ctx.spawn(child, { input: "" });
      setImmediate(resolve);
      return done("early");
    });
    await new Runtime({ telemetry }).run(lead, "").result;
    expect(treeOf(ended()).slice(0, 2)).toEqual(["invoke_agent lead", "  invoke_agent child"]);
    expect(statusOf(ended(), "invoke_agent child")).toBe("cancelled");
  });

  test("a run is inside of the span that is active when it starts, also if that has ended by then", async () => {
    activeSpans();
    const { tracer, telemetry, ended } = recording();
    const runtime = new Runtime({ telemetry, journal: new MemoryJournal() });
    const runs = ["GET /a", "GET /b"].map((name) =>
      tracer.startActiveSpan(name, (request) => {
        const { result } = runtime.run(team(), "Go");
        request.end();
        return result;
      }),
    );
    await Promise.all(runs);
    const inside = TEAM.map((line) => `  ${line}`);
    const byTrace = Map.groupBy(ended(), (span) => span.spanContext().traceId);
    expect(new Set([...byTrace.values()].map((spans) => treeOf(spans).join("\n")))).toEqual(
      new Set([["GET /a", ...inside].join("\n"), ["GET /b", ...inside].join("\n")]),
    );
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  test("what resumes a run decides on its trace; agents that had begun before are marked, and what was recorded has no span", async () => {
    activeSpans();
    const { tracer, telemetry, ended } = recording();
    const journal = new MemoryJournal();
    const lead = agent("lead", async (ctx) => {
      await ctx.llm(scriptedModel(["ok"]), ask);
      await ctx.waitFor("go");
      await ctx.tool({ id: "c1", name: "note", arguments: "{}" }, noted);
      return done("ok");
    });
    const first = new Runtime({ telemetry, journal });
    const { result } = first.run(lead, "", { runId: "r1" });
    while ((await first.list())[0]?.waitingFor?.length !== 1) await new Promise(setImmediate);
    await first.close();
    expect((await result).status).toBe("suspended");
    const second = new Runtime({ telemetry, journal, agents: [lead] });
    await second.deliver("r1", "go", true);
    const resumed = await tracer.startActiveSpan("queue", (span) => {
      span.end();
      return second.resume("r1").result;
    });
    expect(resumed.status).toBe("completed");
    const [before = [], after = []] = Map.groupBy(ended(), (span) => span.spanContext().traceId).values();
    expect(treeOf(before)).toEqual(["invoke_agent lead", "  chat scripted"]);
    expect(treeOf(after)).toEqual(["queue", "  invoke_agent lead", "    execute_tool note"]);
    const agents = ended().filter(({ name }) => name === "invoke_agent lead");
    expect(agents.map(({ attributes, status }) => [attributes["ravi.status"], status.code])).toEqual([
      ["suspended", SpanStatusCode.UNSET],
      ["completed", SpanStatusCode.UNSET],
    ]);
    expect(agents.map(({ attributes }) => attributes["ravi.replayed"])).toEqual([undefined, true]);
    expect(new Set(agents.map(({ attributes }) => attributes["ravi.run.id"])).size).toBe(1);
  });
});

describe("what others measure", () => {
  /** What an instrumentation of an HTTP client does: a span around each request. */
  async function request(tracer: Tracer, url: string): Promise<void> {
    const span = tracer.startSpan("GET");
    const [response] = (await once(get(url), "response")) as [AsyncIterable<unknown>];
    for await (const _ of response);
    span.end();
  }

  test("requests that tools, models and agents make are inside of the span of that call", async () => {
    activeSpans();
    const server = createServer((_, response) => response.end("ok")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { tracer, telemetry, ended } = recording();
    const fetching = defineTool({
      name: "fetch",
      description: "",
      input: z.object({}),
      execute: async (_, { llm }) => {
        await request(tracer, url);
        await llm(scriptedModel(["fine"]), ask);
        return "ok";
      },
    });
    const scripted = scriptedModel([{ toolCalls: [{ name: "fetch", arguments: {} }] }, "done"]);
    const model = Object.assign(Object.create(scripted) as typeof scripted, {
      generate: async (...asked: Parameters<typeof scripted.generate>) => {
        await request(tracer, url);
        return scripted.generate(...asked);
      },
    });
    const clerk = new ReActAgent({ name: "clerk", model, tools: [fetching] });
    const lead = agent("lead", async (ctx) => {
      await request(tracer, url);
      await ctx.hire({ agent: clerk, input: "" });
      await request(tracer, url);
      return done("ok");
    });
    await new Runtime({ telemetry }).run(lead, "").result;
    expect(treeOf(ended())).toEqual([
      "invoke_agent lead",
      "  invoke_agent clerk",
      "    chat scripted",
      "      GET",
      "    chat scripted",
      "      GET",
      "    execute_tool fetch",
      "      chat scripted",
      "      GET",
      "  GET",
      "  GET",
    ]);
  });

  test("the spans of a tracing layer are inside of the model call that it is around", async () => {
    activeSpans();
    const { telemetry, ended } = recording();
    const chat = new MiddlewarePipeline([tracing({ telemetry })]);
    const lead = new ReActAgent({ name: "lead", model: scriptedModel(["ok"]) });
    await new Runtime({ telemetry, pipelines: { chat } }).run(lead, "").result;
    expect(treeOf(ended())).toEqual(["invoke_agent lead", "  chat scripted", "    chat scripted"]);
  });
});

describe("how runs end", () => {
  const priced = (telemetry: Telemetry, maxCostUsd: number) => {
    const meter = new ModelMeter({ prices: { scripted: { input: 1_000_000, output: 1_000_000 } } });
    return new Runtime({
      telemetry,
      meter,
      ledger: () => new ExecutionTracker(executionBudget({ maxCostUsd })),
    });
  };

  test("the costs of the spans are that of the run", async () => {
    const { telemetry, ended } = recording();
    const result = await priced(telemetry, 1_000_000).run(team(), "Go").result;
    const costs = ended().map(({ attributes }) => Number(attributes["ravi.cost_usd"] ?? 0));
    expect(costs.reduce((sum, each) => sum + each, 0)).toBeCloseTo(result.cost ?? 0, 6);
    expect(result.cost).toBeGreaterThan(0);
  });

  test("a run that is cut off by its budget is partial and no error; the call that was refused was denied", async () => {
    const { telemetry, ended } = recording();
    const lead = new ReActAgent({ name: "lead", model: scriptedModel(["never"]) });
    expect((await priced(telemetry, 0.5).run(lead, "Go").result).status).toBe("partial");
    expect(statusOf(ended(), "invoke_agent lead")).toBe("partial");
    expect(statusOf(ended(), "chat scripted")).toBe("denied");
    for (const { status } of ended()) expect(status.code).toBe(SpanStatusCode.UNSET);
  });

  test("a call that has waited for money says how long, so that its provider does not seem to be slow", async () => {
    const { telemetry, ended } = recording();
    const world = new World();
    world.provider.answering = () => new Promise((resolve) => world.clock.setTimer(resolve, 30_000));
    const limits = { executionBudget: { maxCostUsd: 0.13 } };
    const { result } = new Runtime({ ...world.rules, telemetry }).run(world.lead(3), "", limits);
    for (let n = 0; n < 2; n++) {
      await turns();
      await world.clock.advance(30_000);
    }
    await result;
    const calls = ended().filter(({ name }) => name === "chat m");
    expect(calls.map(({ attributes }) => [attributes["ravi.waited_ms"], attributes["ravi.status"]])).toEqual([
      [undefined, undefined],
      [30_000, undefined],
      [60_000, "denied"],
    ]);
  });

  test("a run that fails is an error, as is the call that it failed with", async () => {
    const { telemetry, ended } = recording();
    const down = new ProviderError({ kind: "OVERLOADED", message: "try later" });
    const lead = new ReActAgent({ name: "lead", model: scriptedModel([down]) });
    expect((await new Runtime({ telemetry }).run(lead, "Go").result).status).toBe("failed");
    for (const { status, attributes } of ended()) {
      expect(status).toEqual({ code: SpanStatusCode.ERROR, message: "try later" });
      expect(attributes["error.type"]).toBe("OVERLOADED");
    }
    expect(statusOf(ended(), "invoke_agent lead")).toBe("failed");
  });

  test("a run that is cancelled is no error, and says why", async () => {
    const { telemetry, ended } = recording();
    const lead = agent("lead", async (ctx) => done(JSON.stringify(await ctx.waitFor("never"))));
    const handle = new Runtime({ telemetry, journal: new MemoryJournal() }).run(lead, "");
    handle.cancel("not needed any more");
    expect((await handle.result).status).toBe("cancelled");
    const [span] = ended();
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
    expect(span?.attributes["ravi.status"]).toBe("cancelled");
    expect(span?.attributes["ravi.reason"]).toContain("not needed any more");
  });

  test("T13: a key in what agents and tools throw, or in arguments and answers, is in no span", async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    const key = "sk-ant-CANARY00112233445566";
    const throws = defineTool({
      name: "throws",
      description: "",
      input: z.object({ key: z.string() }),
      execute: () => Promise.reject(new Error(`401 for ${key}`)),
    });
    const script = [{ toolCalls: [{ name: "throws", arguments: { key } }] }, `the key is ${key}`];
    const lead = agent("lead", async (ctx) => {
      const clerk = new ReActAgent({ name: "clerk", model: scriptedModel(script), tools: [throws] });
      await ctx.hire({ agent: clerk, input: `use ${key}` });
      throw new Error(`Bearer ${key}`);
    });
    for (const content of [false, true]) {
      const telemetry = otelTelemetry({ tracer: provider.getTracer("test"), content });
      expect((await new Runtime({ telemetry }).run(lead, "").result).status).toBe("failed");
    }
    const all = JSON.stringify(
      exporter.getFinishedSpans().map((span) => [span.name, span.attributes, span.status, span.events]),
    );
    expect(all).toContain("the key is [redacted]");
    expect(all).not.toContain("CANARY");
  });
});

test("what a layer redacts before the call is not in the content of its span", async () => {
  const { tracer, ended } = recording();
  const telemetry = otelTelemetry({ tracer, content: true });
  const chat = new MiddlewarePipeline([piiRedaction()]);
  const says = agent("says", async (ctx) => {
    const asked = { messages: [{ role: "user", content: "Write to ada@example.org" }] } as const;
    await ctx.llm(scriptedModel(["I write to bob@example.org"]), asked);
    return done("ok");
  });
  await new Runtime({ telemetry, pipelines: { chat } }).run(says, "").result;
  const { attributes = {} } = ended().find(({ name }) => name === "chat scripted") ?? {};
  const texts = ["gen_ai.input.messages", "gen_ai.output.messages"].map((name) => String(attributes[name]));
  expect(texts).toEqual([expect.stringContaining("Write to "), expect.stringContaining("I write to ")]);
  expect(texts.join("")).not.toContain("example.org");
});

describe("T8: what fails in OpenTelemetry changes no run", () => {
  const boom = (): never => {
    throw new Error("the collector is gone");
  };
  const processor: SpanProcessor = {
    onStart() {},
    onEnd() {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const exporter: SpanExporter = { export: boom, shutdown: async () => {} };
  const hostile: readonly [string, () => Tracer][] = [
    ["a tracer that throws", () => ({ startSpan: boom, startActiveSpan: boom })],
    ["a processor that throws at the start", () => recording({ ...processor, onStart: boom }).tracer],
    ["a processor that throws at the end", () => recording({ ...processor, onEnd: boom }).tracer],
    ["an exporter that throws", () => recording(new SimpleSpanProcessor({ exporter })).tracer],
    [
      "an exporter that never answers",
      () => recording(new SimpleSpanProcessor({ exporter: { ...exporter, export() {} } })).tracer,
    ],
  ];
  test.each(hostile)("T8: %s", async (_, make) => {
    const plain = await new Runtime().run(team(), "Go").result;
    const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
    const telemetry = otelTelemetry({ tracer: make(), content: true });
    const traced = await new Runtime({ telemetry, logger }).run(team(), "Go").result;
    expect([traced.status, traced.output, traced.usage]).toEqual([plain.status, plain.output, plain.usage]);
  });

  test("T8: a context manager that throws", async () => {
    const manager = new AsyncLocalStorageContextManager();
    context.setGlobalContextManager(Object.assign(manager, { with: boom }));
    onTestFinished(() => context.disable());
    const { telemetry } = recording();
    const { status, output } = await new Runtime({ telemetry }).run(team(), "Go").result;
    expect([status, output]).toEqual(["completed", "all done"]);
  });

  test("T8: a redactor, a meter and a clock that throw", async () => {
    const { tracer } = recording();
    const clock: Pick<Clock, "now"> = { now: boom };
    const meter = Object.assign(Object.create(createNoopMeter()) as Meter, { createHistogram: boom });
    for (const options of [{ content: boom }, { clock }, { meter }]) {
      const telemetry = otelTelemetry({ tracer, ...options });
      const { status, output } = await new Runtime({ telemetry }).run(team(), "Go").result;
      expect([status, output]).toEqual(["completed", "all done"]);
    }
  });
});
