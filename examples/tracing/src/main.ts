// A run as a trace of OpenTelemetry: who worked for whom, what each call used and cost, and where it failed.
//
// The spans are kept in memory and printed. To send them elsewhere, use another exporter, such as that of
// @opentelemetry/exporter-trace-otlp-http. It needs no key: scripted models stand in for real ones.

import assert from "node:assert/strict";
import {
  TracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace";
import { agent, run, team, tool } from "@ravi/sdk";
import { otelTelemetry } from "@ravi/telemetry-otel";
import { scriptedModel } from "@ravi/testing";

// If the result cannot be printed, for example on a full disk, the program has failed.
process.stdout.on("error", () => (process.exitCode = 1));

// In a server, `NodeSDK` of @opentelemetry/sdk-node does this for the whole process; then `otelTelemetry()` needs no tracer.
const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
const telemetry = otelTelemetry({ tracer: provider.getTracer("example") });

const lookUp = tool({
  name: "look_up",
  description: "What a vendor asks.",
  input: { type: "object" },
  execute: () => {
    throw new Error("the archive is closed");
  },
});
const researcher = agent({
  name: "researcher",
  model: scriptedModel([{ toolCalls: [{ name: "look_up", arguments: {} }] }, "Nobody knows."]),
  tools: [lookUp],
});
const lead = team({
  name: "lead",
  model: scriptedModel([
    { toolCalls: [{ name: "handoff_researcher", arguments: { task: "What does Acme ask?" } }] },
    "Acme's price is not known.",
  ]),
  members: [researcher],
});

const prices = { scripted: { input: 0.25, output: 2 } };
const result = await run(lead, "What does Acme ask?", { telemetry, prices, validator: () => [] });
assert.equal(result.status, "completed");

const spans = exporter.getFinishedSpans();
assert.equal(new Set(spans.map((span) => span.spanContext().traceId)).size, 1); // one trace for the whole tree
print(undefined, "");

const costs = spans.map(({ attributes }) => Number(attributes["ravi.cost_usd"] ?? 0));
assert.equal(costs.reduce((sum, each) => sum + each, 0).toFixed(9), result.cost?.toFixed(9));
await provider.shutdown();

/** Prints the spans inside of one, in the order in which they began. */
function print(parent: string | undefined, indent: string): void {
  for (const span of spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent)) {
    console.log(`${indent}${span.name}${about(span)}`);
    print(span.spanContext().spanId, `${indent}  `);
  }
}

function about({ attributes, status }: ReadableSpan): string {
  const tokens = attributes["gen_ai.usage.output_tokens"];
  if (typeof tokens === "number") return `: ${tokens} tokens of output`;
  return status.message === undefined ? "" : `: ${status.message}`;
}
