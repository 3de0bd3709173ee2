import { setImmediate as later } from "node:timers/promises";
import { trace } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { otelTelemetry } from "@ravi/telemetry-otel";
import { registerMetrics, registerTraces } from "./sdk.ts";

describe("without an SDK", () => {
  test("it is a no-op, until one is registered", async () => {
    const telemetry = otelTelemetry();
    expect(telemetry.isNoop).toBe(true);
    const { ended } = registerTraces();
    expect(telemetry.isNoop).toBe(false);
    telemetry.startSpan("ravi.run", { agentId: "lead" }).end();
    expect(ended().map(({ name }) => name)).toEqual(["invoke_agent lead"]);
    expect(ended()[0]?.instrumentationScope).toMatchObject({
      name: "@ravi/telemetry-otel",
      schemaUrl: "https://opentelemetry.io/schemas/1.41.0",
    });
  });

  test("metrics alone make it none, also if they are registered after it was made and used", async () => {
    const telemetry = otelTelemetry();
    telemetry.metric("queue.seconds", 1);
    telemetry.startSpan("ravi.llm", { model: "m" }).end();
    const { counted } = registerMetrics();
    expect(telemetry.isNoop).toBe(false);
    telemetry.startSpan("ravi.llm", { model: "m" }).end();
    telemetry.metric("queue.seconds", 2);
    expect((await counted()).map(({ name, count, sum }) => [name, count, sum])).toEqual([
      ["gen_ai.client.operation.duration", 1, expect.any(Number)],
      ["queue.seconds", 1, 2],
    ]);
  });

  test("a tracer or a meter that is given makes it none", () => {
    const tracer = trace.getTracer("x");
    expect(otelTelemetry({ tracer }).isNoop).toBe(false);
    const meter = registerMetrics().meter;
    expect(otelTelemetry({ meter }).isNoop).toBe(false);
  });

  test("its spans do nothing, and work in them is done", () => {
    const span = otelTelemetry().startSpan("ravi.tool", { tool: "pay" });
    let calls = 0;
    span.run?.(() => void calls++);
    span.setAttribute("status", "failed");
    span.recordError(new Error("x"));
    span.end();
    expect(calls).toBe(1);
  });
});

describe("parents", () => {
  test("without a parent, a span is inside of the one that is active; with one, inside of that", () => {
    const { tracer, ended } = registerTraces();
    const telemetry = otelTelemetry();
    tracer.startActiveSpan("request", (request) => {
      const run = telemetry.startSpan("ravi.run", { agentId: "lead" });
      const call = telemetry.startSpan("ravi.llm", { model: "m" }, run);
      call.end();
      run.end();
      request.end();
    });
    const [call, run, request] = ended();
    expect(call?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId);
    expect(run?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
    expect(new Set(ended().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test("a parent that has ended is one still", () => {
    const { ended } = registerTraces();
    const telemetry = otelTelemetry();
    const run = telemetry.startSpan("ravi.run", { agentId: "lead" });
    run.end();
    telemetry.startSpan("ravi.hire", { agentId: "clerk/1" }, run).end();
    expect(ended()[1]?.parentSpanContext?.spanId).toBe(ended()[0]?.spanContext().spanId);
  });

  test("a parent of other telemetry is left out", () => {
    const { ended } = registerTraces();
    const other = { setAttribute() {}, recordError() {}, end() {} };
    otelTelemetry().startSpan("ravi.llm", { model: "m" }, other).end();
    expect(ended()[0]?.parentSpanContext).toBeUndefined();
  });

  test("while work runs in a span, spans of others are inside of it, also after an await; afterwards they are not", async () => {
    const { tracer, ended } = registerTraces();
    const tool = otelTelemetry().startSpan("ravi.tool", { tool: "get" });
    let work = Promise.resolve();
    tool.run?.(() => {
      work = (async () => {
        await later();
        tracer.startSpan("GET").end();
      })();
    });
    tracer.startSpan("outside").end();
    await work;
    tool.end();
    const parents = Object.fromEntries(ended().map((span) => [span.name, span.parentSpanContext?.spanId]));
    expect(parents).toEqual({
      GET: ended()[2]?.spanContext().spanId,
      outside: undefined,
      "execute_tool get": undefined,
    });
  });
});
