import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { onTestFinished } from "vitest";
import { measuring, recording } from "./support.ts";

/** Until the end of the test, what `NodeSDK.start()` registers for the whole process: spans, and which of them is active. */
export function registerTraces() {
  const recorded = recording();
  trace.setGlobalTracerProvider(recorded.provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  return recorded;
}

/** The same for metrics. */
export function registerMetrics() {
  const measured = measuring();
  metrics.setGlobalMeterProvider(measured.provider);
  onTestFinished(() => metrics.disable());
  return measured;
}
