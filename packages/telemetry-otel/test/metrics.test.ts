import assert from "node:assert/strict";
import { BudgetExhaustedError, ProviderError, type Span } from "@ravi/kernel";
import { expect, test } from "vitest";
import { otelTelemetry } from "@ravi/telemetry-otel";
import { type Meter, trace, type Tracer } from "@opentelemetry/api";
import { AlwaysOffSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { registerTraces } from "./sdk.ts";
import { measuring, recording } from "./support.ts";

/** A model call that takes as long as the clock is moved. */
function calls() {
  const { meter, counted } = measuring();
  // Sampled out: metrics are of all calls.
  const tracer = new TracerProvider({ sampler: new AlwaysOffSampler() }).getTracer("test");
  let time = 5_000;
  const telemetry = otelTelemetry({ tracer, meter, clock: { now: () => time } });
  const call = (tookMs: number, tell: (span: Span) => void): void => {
    const asked = { agentId: "clerk", runId: "r1", provider: "openai", model: "small" };
    const span = telemetry.startSpan("ravi.llm", asked);
    time += tookMs;
    tell(span);
    span.end();
  };
  return { telemetry, call, counted };
}

const used = (span: Span, input: number, output: number): void => {
  span.setAttribute("inputTokens", input);
  span.setAttribute("outputTokens", output);
};
const CHAT = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "openai",
  "gen_ai.request.model": "small",
};

test("each model call is measured by the conventions: its seconds and its tokens, in the recommended buckets", async () => {
  const { call, counted } = calls();
  call(1_500, (span) => {
    used(span, 1_000, 20);
    span.setAttribute("responseModel", "small-2026");
  });
  call(500, (span) => {
    used(span, 3, 4);
    span.setAttribute("responseModel", "small-2026");
  });
  const attributes = { ...CHAT, "gen_ai.response.model": "small-2026" };
  const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
  const powers = Array.from({ length: 14 }, (_, at) => 4 ** at);
  const tokens = { name: "gen_ai.client.token.usage", unit: "{token}", count: 2, buckets: powers };
  expect(await counted()).toEqual([
    { name: "gen_ai.client.operation.duration", unit: "s", attributes, count: 2, sum: 2, buckets: seconds },
    { ...tokens, attributes: { ...attributes, "gen_ai.token.type": "input" }, sum: 1_003 },
    { ...tokens, attributes: { ...attributes, "gen_ai.token.type": "output" }, sum: 24 },
  ]);
});

test("a call that fails or is refused is measured apart, and what is not known is not counted", async () => {
  const { call, counted } = calls();
  call(100, (span) => {
    // What was reserved is charged, but nobody has said what was used.
    used(span, 50, 60);
    span.setAttribute("estimated", true);
    span.recordError(new ProviderError({ kind: "TIMEOUT", message: "gone" }));
  });
  call(0, (span) => {
    used(span, 0, 0);
    span.recordError(new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "lead" }));
  });
  const types = (await counted()).map(({ name, attributes }) => [name, attributes["error.type"]]);
  expect(types).toEqual([
    ["gen_ai.client.operation.duration", "TIMEOUT"],
    ["gen_ai.client.operation.duration", "BUDGET_EXHAUSTED"],
  ]);
});

test("the tokens that a failed call used are counted with those of the others", async () => {
  const { call, counted } = calls();
  call(0, (span) => used(span, 1, 1));
  call(0, (span) => {
    used(span, 1, 1);
    span.recordError(new ProviderError({ kind: "FORMAT_ERROR", message: "no answer" }));
  });
  const tokens = (await counted()).filter(({ name }) => name === "gen_ai.client.token.usage");
  expect(tokens.map(({ count }) => count)).toEqual([2, 2]);
});

test("a model that a layer has fallen back to is the one that is measured", async () => {
  const { call, counted } = calls();
  call(0, (span) => {
    used(span, 1, 1);
    span.setAttribute("provider", "xai");
    span.setAttribute("model", "big");
  });
  for (const { attributes } of await counted())
    expect(attributes).toMatchObject({ "gen_ai.provider.name": "x_ai", "gen_ai.request.model": "big" });
});

test("runs, agents and ids are no dimensions: a backend would keep a series for each", async () => {
  const { call, counted } = calls();
  call(0, (span) => {
    used(span, 1, 1);
    span.setAttribute("responseId", "resp_1");
    span.setAttribute("costUsd", 0.1);
  });
  const names = new Set((await counted()).flatMap(({ attributes }) => Object.keys(attributes)));
  expect([...names].toSorted()).toEqual([
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.token.type",
  ]);
});

test("a call whose end is told twice is measured once", async () => {
  const { call, counted } = calls();
  call(0, (span) => {
    used(span, 1, 1);
    span.end();
  });
  expect((await counted()).map(({ count }) => count)).toEqual([1, 1, 1]);
});

test("T8: a meter that throws leaves no span open", () => {
  const { tracer, ended } = recording();
  const meter = Object.assign(Object.create(measuring().meter) as Meter, {
    createHistogram: () => {
      throw new Error("no meter");
    },
  });
  const span = otelTelemetry({ tracer, meter }).startSpan("ravi.llm", { model: "m" });
  expect(() => span.end()).toThrow("no meter");
  expect(ended()).toHaveLength(1);
});

test("a clock that is set back makes no negative duration", async () => {
  const { call, counted } = calls();
  call(-60_000, (span) => used(span, 1, 1));
  expect((await counted())[0]?.sum).toBe(0);
});

test("a metric of a layer is a histogram of its name, made once", async () => {
  const { meter, counted } = measuring();
  const made: string[] = [];
  const counting: typeof meter = Object.assign(Object.create(meter) as typeof meter, {
    createHistogram: (name: string) => {
      made.push(name);
      return meter.createHistogram(name);
    },
  });
  const telemetry = otelTelemetry({ meter: counting });
  telemetry.metric("queue.seconds", 2, { tenantId: "acme" });
  telemetry.metric("queue.seconds", 3, { tenantId: "acme" });
  telemetry.metric("queue.seconds", 4);
  expect(made).toEqual(["queue.seconds"]);
  expect((await counted()).map(({ attributes, sum }) => [attributes, sum])).toEqual([
    [{ "ravi.tenant.id": "acme" }, 5],
    [{}, 4],
  ]);
});

test("a measurement is made while the span of its call is active, so that a backend can show it as an example", () => {
  const { tracer } = registerTraces();
  const active: unknown[] = [];
  const { meter } = measuring();
  const watching = Object.assign(Object.create(meter) as Meter, {
    createHistogram: () => ({ record: () => active.push(trace.getActiveSpan()?.spanContext().spanId) }),
  });
  const started: unknown[] = [];
  const noting: Tracer = {
    startSpan: (...given) => {
      const span = tracer.startSpan(...given);
      started.push(span.spanContext().spanId);
      return span;
    },
    startActiveSpan: () => assert.fail("not used"),
  };
  otelTelemetry({ tracer: noting, meter: watching }).startSpan("ravi.llm", { model: "m" }).end();
  expect(active).toEqual(started);
  expect(active).toHaveLength(1);
});
