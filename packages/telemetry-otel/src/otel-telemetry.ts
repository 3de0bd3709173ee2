import { context, SpanKind, trace, type Tracer } from "@opentelemetry/api";
import type { JsonObject, Span, Telemetry } from "@ravi/kernel";
import { CallMetrics } from "./call-metrics.ts";
import { Instruments } from "./instruments.ts";
import { attributesOf, operationOf, renamed, titleOf } from "./names.ts";
import { type OtelTelemetryOptions, readOptions, type Settings } from "./options.ts";
import { ContentSpan, OtelSpan } from "./otel-span.ts";
import { NAME, SCOPE } from "./scope.ts";

/**
 * Turns the spans and metrics of runs into those of OpenTelemetry. Without an SDK it is a no-op, and runs are as fast as without
 * telemetry. Throws an `InvalidValueError` for an unknown option or a wrong value.
 */
export function otelTelemetry(options: OtelTelemetryOptions = {}): Telemetry {
  return new OtelTelemetry(readOptions(options));
}

class OtelTelemetry implements Telemetry {
  private readonly settings: Settings;
  private readonly instruments: Instruments;

  constructor(settings: Settings) {
    this.settings = settings;
    this.instruments = new Instruments(settings.meter);
  }

  /** Asked before each span, because an SDK may be registered later. */
  get isNoop(): boolean {
    return this.settings.tracer === undefined && !hasTracer() && this.instruments.isNoop;
  }

  startSpan(name: string, attributes: JsonObject, parent?: Span): Span {
    const { settings, instruments } = this;
    const operation = operationOf(name);
    const around = parent instanceof OtelSpan ? parent.inside : context.active();
    const given = attributesOf(name, attributes);
    const kind = given["gen_ai.operation.name"] === "chat" ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const span = this.tracer.startSpan(titleOf(name, attributes), { kind, attributes: given }, around);
    const metrics =
      operation === "chat" ? new CallMetrics(instruments, settings.clock, attributes) : undefined;
    return settings.redact === undefined || !span.isRecording()
      ? new OtelSpan(span, metrics)
      : new ContentSpan(span, metrics, settings);
  }

  metric(name: string, value: number, attributes: JsonObject = {}): void {
    this.instruments.record(name, value, renamed(attributes));
  }

  private get tracer(): Tracer {
    return this.settings.tracer ?? trace.getTracerProvider().getTracer(NAME, undefined, SCOPE);
  }
}

/** As long as no SDK is registered, the API's own provider stands in for it, and has nobody to ask for a tracer. */
function hasTracer(): boolean {
  const provider: object = trace.getTracerProvider();
  const delegate: unknown = Reflect.get(provider, "getDelegateTracer");
  if (typeof delegate !== "function") return true;
  return Reflect.apply(delegate, provider, [NAME, undefined, SCOPE]) !== undefined;
}
