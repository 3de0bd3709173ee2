import {
  checkFields,
  checkInteger,
  type Clock,
  errorToJSON,
  isPromiseLike,
  type JsonObject,
  type JsonPrimitive,
  type SerializedError,
  type Span,
  systemClock,
  type Telemetry,
} from "@ravi/kernel";
import { checkPorts } from "@ravi/kernel/loop";
import { checkListener } from "./checks.ts";

/** One piece of work that was watched. */
export interface RecordedSpan {
  readonly kind: "span";
  readonly name: string;
  /** In the order in which they began, from 1. */
  readonly number: number;
  /** Epoch milliseconds. */
  readonly start: number;
  readonly end: number;
  readonly attributes: JsonObject;
  readonly errors: readonly SerializedError[];
}

export interface RecordedMetric {
  readonly kind: "metric";
  readonly name: string;
  readonly at: number;
  readonly value: number;
  readonly attributes: JsonObject;
}

export type RecordedEvent = RecordedSpan | RecordedMetric;

export interface EventRecorderOptions {
  /** How many are kept; the oldest go first. Default 10,000. */
  readonly limit?: number | undefined;
  /** Gets each as soon as it is complete. What it throws is left out: an observer changes nothing. */
  readonly onEvent?: ((event: RecordedEvent) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** Telemetry that is kept in memory, to be looked at, or handed on to whoever exports it. */
export class EventRecorder implements Telemetry {
  readonly isNoop = false;
  private readonly limit: number;
  private readonly onEvent: ((event: RecordedEvent) => void) | undefined;
  private readonly clock: Clock;
  private readonly kept: RecordedEvent[] = [];
  private readonly running = new Set<string>();
  private started = 0;
  private seen = 0;

  constructor(options: EventRecorderOptions = {}) {
    checkFields("EventRecorder options", options, ["limit", "onEvent", "clock"]);
    checkPorts("EventRecorder options", { clock: options.clock });
    checkListener("EventRecorder options.onEvent", options.onEvent);
    this.limit = checkInteger("limit", options.limit ?? 10_000, 1);
    this.onEvent = options.onEvent;
    this.clock = options.clock ?? systemClock;
  }

  /** What is complete, in the order in which it ended. */
  get events(): readonly RecordedEvent[] {
    return this.kept.slice(-this.limit);
  }

  /** Names of what has begun and not ended: after a run, what was forgotten. */
  get open(): readonly string[] {
    return [...this.running];
  }

  /** How many are no longer kept. */
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
        // Once: whoever ends it again has nothing more to say.
        if (!this.running.delete(label)) return;
        const end = this.clock.now();
        this.keep({ kind: "span", name, number, start, end, attributes: { ...known }, errors: [...errors] });
      },
    };
  }

  metric(name: string, value: number, attributes: JsonObject = {}): void {
    this.keep({ kind: "metric", name, at: this.clock.now(), value, attributes: { ...attributes } });
  }

  clear(): void {
    this.kept.length = 0;
    this.seen = 0;
  }

  private keep(event: RecordedEvent): void {
    this.seen++;
    // Twice the limit before anything is moved, so that a full one costs no more than an empty one.
    if (this.kept.push(event) >= 2 * this.limit) this.kept.splice(0, this.limit);
    // See `onEvent`: what it throws is left out, also later.
    try {
      const told: unknown = this.onEvent?.(event);
      if (isPromiseLike(told)) told.then(undefined, () => {});
    } catch {
      // The same.
    }
  }
}
