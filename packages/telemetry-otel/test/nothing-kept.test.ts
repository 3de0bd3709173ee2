import { expect, test } from "vitest";
import { otelTelemetry } from "@ravi/telemetry-otel";
import { recording } from "./support.ts";

/** How many entries all collections and objects that can be reached from a value have, without those of the SDK. */
function entriesIn(value: unknown, sdk: unknown, seen = new Set<unknown>()): number {
  if (typeof value !== "object" || value === null || value === sdk || seen.has(value)) return 0;
  seen.add(value);
  const inside: unknown[] = [
    ...Object.values(value),
    ...(value instanceof Map || value instanceof Set ? [...value.values()] : []),
  ];
  return inside.reduce<number>((sum, each) => sum + entriesIn(each, sdk, seen), inside.length);
}

test("nothing is kept of spans, neither of those that have ended nor of those that never end", () => {
  const { tracer } = recording();
  const telemetry = otelTelemetry({ tracer, content: true });
  telemetry.startSpan("ravi.llm", { model: "m" }).end();
  const before = entriesIn(telemetry, tracer);
  for (let at = 0; at < 1_000; at++) {
    const run = telemetry.startSpan("ravi.run", { runId: `r${at}`, agentId: `lead${at}` });
    const call = telemetry.startSpan("ravi.llm", { runId: `r${at}`, agentId: `lead${at}`, model: "m" }, run);
    if (at % 2 === 0) call.end();
    if (at % 3 === 0) run.end();
  }
  expect(entriesIn(telemetry, tracer)).toBe(before);
  expect(before).toBeGreaterThan(0);
});
