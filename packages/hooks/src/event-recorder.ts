import {
  checkFields,
  checkInteger,
  type Clock,
  errorToJSON,
  type JsonObject,
  type JsonPrimitive,
  type SerializedError,
  type Span,
  systemClock,
  type Telemetry,
} from "@ravi/kernel";
import { checkFunction, checkPorts, quietly } from "@ravi/kernel/loop";

/** A finished span. */
export interface RecordedSpan {
  readonly kind: "span";
  readonly name: string;
  /** In the order in which spans started, from 1. */
  readonly number: number;
  /** Epoch milliseconds, like `end`. */
  readonly start: number;
  readonly end: number;
  readonly attributes: JsonObject;
  readonly errors: readonly SerializedError[];
}

/** A single measured value. */
export interface RecordedMetric {
  readonly kind: "metric";
  readonly name: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly value: number;
  readonly attributes: JsonObject;
}

/** What a recorder keeps: a finished span or a metric. */
export type RecordedEvent = RecordedSpan | RecordedMetric;

export interface EventRecorderOptions {
  /** How many events are kept; the oldest are dropped first. Default: 10,000. */
  readonly limit?: number | undefined;
  /** Called with each span when it ends, and with each metric. Errors that it throws are ignored: an observer changes nothing. */
  readonly onEvent?: ((event: RecordedEvent) => void) | undefined;
  /** Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** Telemetry that is kept in memory, for inspection or for an exporter. */
export class EventRecorder implements Telemetry {
  readonly isNoop = false;
  private readonly limit: number;
  private readonly onEvent: ((event: RecordedEvent) => void) | undefined;
  private readonly clock: Clock;
  private readonly kept: RecordedEvent[] = [];
  private readonly running = new Set<string>();
  private started = 0;
  private seen = 0;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: EventRecorderOptions = {}) {
    checkFields("EventRecorder options", options, ["limit", "onEvent", "clock"]);
    checkPorts("EventRecorder options", { clock: options.clock });
    checkFunction("EventRecorder options.onEvent", options.onEvent);
    this.limit = checkInteger("limit", options.limit ?? 10_000, 1);
    this.onEvent = options.onEvent;
    this.clock = options.clock ?? systemClock;
  }

  /** Finished spans and metrics, in the order in which they ended. */
  get events(): readonly RecordedEvent[] {
    return this.kept.slice(-this.limit);
  }

  /** The names of spans that have started and not ended. After a run, these were forgotten. */
  get open(): readonly string[] {
    return [...this.running];
  }

  /** How many events are no longer kept. */
  get dropped(): number {
    return Math.max(0, this.seen - this.limit);
  }

  startSpan(name: string, attributes: JsonObject): Span {
    const number = ++this.started;
    const start = this.clock.now();
    const known: Record<string, JsonObject[string]> = { ...attributes };
    const errors: SerializedError[] = [];
    const label = `${name}#${number}`;
    this.running.add(label);
    return {
      setAttribute: (key: string, value: Exclude<JsonPrimitive, null>) => void (known[key] = value),
      recordError: (error) => void errors.push(errorToJSON(error)),
      end: () => {
        // Only the first `end` counts.
        if (!this.running.delete(label)) return;
        const end = this.clock.now();
        this.keep({ kind: "span", name, number, start, end, attributes: { ...known }, errors: [...errors] });
      },
    };
  }

  metric(name: string, value: number, attributes: JsonObject = {}): void {
    this.keep({ kind: "metric", name, at: this.clock.now(), value, attributes: { ...attributes } });
  }

  /** Removes the kept events and resets `dropped`. Open spans stay open. */
  clear(): void {
    this.kept.length = 0;
    this.seen = 0;
  }

  private keep(event: RecordedEvent): void {
    this.seen++;
    // The array grows to twice the limit before it is cut, so that a full recorder costs no more per event than an empty one.
    if (this.kept.push(event) >= 2 * this.limit) this.kept.splice(0, this.limit);
    quietly(() => this.onEvent?.(event));
  }
}
