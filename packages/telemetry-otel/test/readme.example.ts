import assert from "node:assert/strict";
import { type Attributes, ROOT_CONTEXT, trace, type Tracer, TraceFlags } from "@opentelemetry/api";
import { otelTelemetry } from "@ravi/telemetry-otel";

// As long as no SDK is registered it is a no-op: a runtime does not call it.
assert.equal(otelTelemetry().isNoop, true);

// A tracer of your own, instead of that of an SDK. This one prints.
const lines: string[] = [];
const printing: Tracer = {
  startSpan(name, { attributes = {} } = {}, context = ROOT_CONTEXT) {
    const inside = trace.getSpanContext(context)?.spanId ?? "nothing";
    lines.push(`${name}, inside of ${inside}: ${nameOf(attributes)}`);
    const spanId = String(lines.length);
    return trace.wrapSpanContext({ traceId: "1", spanId, traceFlags: TraceFlags.SAMPLED });
  },
  startActiveSpan: () => assert.fail("not used"),
};

// What a runtime does: a span for the agent, inside of it one for each call.
const telemetry = otelTelemetry({ tracer: printing });
const agent = telemetry.startSpan("ravi.run", { runId: "r1", agentId: "lead" });
const call = telemetry.startSpan("ravi.llm", { runId: "r1", agentId: "lead", model: "gpt-5-mini" }, agent);
call.setAttribute("costUsd", 0.002);
call.end();
agent.end();

assert.deepEqual(lines, ["invoke_agent lead, inside of nothing: lead", "chat gpt-5-mini, inside of 1: lead"]);

function nameOf(attributes: Attributes): string {
  return String(attributes["gen_ai.agent.name"]);
}
