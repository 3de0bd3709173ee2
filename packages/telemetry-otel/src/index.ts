export { otelTelemetry } from "./otel-telemetry.ts";
export type { OtelTelemetryOptions } from "./options.ts";
