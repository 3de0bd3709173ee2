import type { Attributes } from "@opentelemetry/api";
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  TracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type SpanProcessor,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace";

/** The SDK of OpenTelemetry, with what it would export. */
export function recording(...more: readonly SpanProcessor[]) {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [...more, new SimpleSpanProcessor({ exporter })] });
  return { provider, tracer: provider.getTracer("test"), ended: () => exporter.getFinishedSpans() };
}

/** The one span that has ended. */
export function only(spans: readonly ReadableSpan[]): ReadableSpan {
  const [span] = spans;
  if (span === undefined || spans.length > 1) throw new Error(`expected one span, got ${spans.length}`);
  return span;
}

/** What a histogram has counted, for each set of attributes. */
export interface Counted {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number | undefined;
  readonly buckets: readonly number[];
}

export function measuring() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  const counted = async (): Promise<readonly Counted[]> => {
    exporter.reset();
    await provider.forceFlush();
    const scopes = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    return scopes.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
        dataPoints.map((point) => ({ name, unit, ...pointOf(point) })),
      ),
    );
  };
  return { provider, meter: provider.getMeter("test"), counted };
}

function pointOf({ attributes, value }: DataPoint<unknown>): Omit<Counted, "name" | "unit"> {
  const { count, sum, buckets } = value as Histogram;
  return { attributes, count, sum, buckets: buckets.boundaries };
}
