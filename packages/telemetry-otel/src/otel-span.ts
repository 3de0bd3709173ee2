import { type Context, type Span as ApiSpan, SpanStatusCode, context, trace } from "@opentelemetry/api";
import type { Span, SpanContent } from "@ravi/kernel";
import type { CallMetrics } from "./call-metrics.ts";
import { contentAttribute } from "./content.ts";
import { failureOf } from "./failure.ts";
import { otelName, otelValue } from "./names.ts";
import type { Settings } from "./options.ts";

/** A span of Ravi, as one of OpenTelemetry. It knows no other span, so nothing outlives what has started it. */
export class OtelSpan implements Span {
  protected readonly span: ApiSpan;
  private readonly metrics: CallMetrics | undefined;
  /** How the work has ended, if it was told. */
  private status: string | undefined;
  private isEnded = false;

  constructor(span: ApiSpan, metrics: CallMetrics | undefined) {
    this.span = span;
    this.metrics = metrics;
  }

  /** The active context with this span in it. */
  get inside(): Context {
    return trace.setSpan(context.active(), this.span);
  }

  setAttribute(key: string, value: string | number | boolean): void {
    this.metrics?.note(key, value);
    if (key === "status") this.status = String(value);
    this.span.setAttribute(otelName(key), otelValue(key, value));
  }

  /** Only what has failed is an error. What was cancelled, suspended or refused by a rule says so in `ravi.status`. */
  recordError(error: unknown): void {
    const { type, message, ending } = failureOf(error);
    this.metrics?.fail(type);
    if (!this.span.isRecording()) return;
    if (this.hasFailed(ending)) {
      this.span.setAttribute("error.type", type);
      this.span.recordException({ name: type, message });
      this.span.setStatus({ code: SpanStatusCode.ERROR, message });
      return;
    }
    if (this.status === undefined && ending !== undefined) this.setAttribute("status", ending);
    this.span.setAttribute("ravi.reason", message);
  }

  /** What was told of an agent counts: one that a guardrail stops has failed, the call in it was denied. */
  private hasFailed(ending: string | undefined): boolean {
    if (this.status === undefined || this.status === "suspended") return ending === undefined;
    return this.status === "failed";
  }

  end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    try {
      // While the span is active, so that a backend can show an example of a measurement.
      const { metrics } = this;
      if (metrics !== undefined) context.with(this.inside, () => metrics.end());
    } finally {
      this.span.end();
    }
  }

  run(work: () => void): void {
    context.with(this.inside, work);
  }
}

/** One that takes prompts, answers, arguments and results. */
export class ContentSpan extends OtelSpan {
  private readonly settings: Settings;

  constructor(span: ApiSpan, metrics: CallMetrics | undefined, settings: Settings) {
    super(span, metrics);
    this.settings = settings;
  }

  addContent(content: SpanContent): void {
    const attribute = contentAttribute(content, this.settings);
    if (attribute !== undefined) this.span.setAttribute(...attribute);
  }
}
