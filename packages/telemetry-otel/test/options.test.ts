import { expect, test } from "vitest";
import { otelTelemetry } from "@ravi/telemetry-otel";

const odd = (options: object): object => options;

test.each<[object, RegExp]>([
  [{ trace: true }, /otelTelemetry\.trace is .*; did you mean tracer\?/],
  [{ tracer: {} }, /otelTelemetry\.tracer .*startSpan/],
  [{ meter: {} }, /otelTelemetry\.meter .*createHistogram/],
  [{ clock: {} }, /otelTelemetry\.clock .*now/],
  [{ content: "yes" }, /otelTelemetry\.content is "yes"; expected true, false, or a function/],
  [{ maxContentChars: 0 }, /otelTelemetry\.maxContentChars is 0; expected a whole number of at least 1/],
])("%j is refused, with what is expected", (options, message) => {
  expect(() => otelTelemetry(odd(options))).toThrow(message);
});
