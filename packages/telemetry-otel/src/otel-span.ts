import { type Context, type Span as ApiSpan, SpanStatusCode, context, trace } from "@opentelemetry/api";
import type { Span, SpanContent } from "@ravi/kernel";
import type { CallMetrics } from "./call-metrics.ts";
import { contentAttribute } from "./content.ts";
import { failureOf, messageIn } from "./failure.ts";
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
    const { type, ending } = failureOf(error);
    this.metrics?.fail(type);
    if (!this.span.isRecording()) return;
    if (this.hasFailed(ending)) return this.fail(type, error);
    if (this.status === undefined && ending !== undefined) this.setAttribute("status", ending);
    const reason = this.messageOf(error);
    if (reason !== undefined) this.span.setAttribute("ravi.reason", reason);
  }

  private fail(type: string, error: unknown): void {
    this.span.setAttribute("error.type", type);
    // Before the message, since a redactor may throw.
    this.span.setStatus({ code: SpanStatusCode.ERROR });
    const message = this.messageOf(error);
    if (message === undefined) return this.span.recordException({ name: type });
    this.span.recordException({ name: type, message });
    this.span.setStatus({ code: SpanStatusCode.ERROR, message });
  }

  protected messageOf(error: unknown): string | undefined {
    return messageIn(error, undefined);
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

  /** What a tool answers when it fails is both its result and the message of an error. */
  protected override messageOf(error: unknown): string | undefined {
    return messageIn(error, this.settings.redact);
  }

  addContent(content: SpanContent): void {
    const attribute = contentAttribute(content, this.settings);
    if (attribute !== undefined) this.span.setAttribute(...attribute);
  }
}
