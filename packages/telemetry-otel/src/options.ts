import type { Meter, Tracer } from "@opentelemetry/api";
import { type Clock, checkFields, checkInteger, InvalidValueError, systemClock } from "@ravi/kernel";
import { checkPort } from "@ravi/kernel/loop";

/** Everything is optional. */
export interface OtelTelemetryOptions {
  /** Makes the spans. Default: that of the SDK that is registered; without one, there are no spans. */
  readonly tracer?: Tracer | undefined;
  /** Makes the instruments of metrics. Default: that of the SDK that is registered; without one, there are no metrics. */
  readonly meter?: Meter | undefined;
  /**
   * Whether prompts, answers, arguments and results are put into the spans. A function gets each text, and messages of errors, and returns
   * the one to record, or undefined for none. Default: false, because they may be personal or secret.
   */
  readonly content?: boolean | ((text: string) => string | undefined) | undefined;
  /** The most characters of content in one attribute. Of a long conversation, the end is kept. Default: 10,000. */
  readonly maxContentChars?: number | undefined;
  /** Measures how long calls take, in milliseconds. Default: the time of day. */
  readonly clock?: Pick<Clock, "now"> | undefined;
}

/** Checked, with the defaults. */
export interface Settings {
  readonly tracer: Tracer | undefined;
  readonly meter: Meter | undefined;
  /** Undefined if no content is wanted. */
  readonly redact: ((text: string) => string | undefined) | undefined;
  readonly maxContentChars: number;
  readonly clock: Pick<Clock, "now">;
}

const FIELDS = ["tracer", "meter", "content", "maxContentChars", "clock"];

/** Throws an `InvalidValueError` for an unknown field or a wrong value. */
export function readOptions(options: OtelTelemetryOptions): Settings {
  checkFields("otelTelemetry", options, FIELDS);
  const { tracer, meter, content = false, clock = systemClock } = options;
  if (tracer !== undefined) checkPort("otelTelemetry.tracer", tracer, ["startSpan"]);
  if (meter !== undefined) checkPort("otelTelemetry.meter", meter, ["createHistogram"]);
  checkPort("otelTelemetry.clock", clock, ["now"]);
  if (typeof content !== "boolean" && typeof content !== "function") {
    const expected = "true, false, or a function that gets a text and returns the text to record";
    throw new InvalidValueError({ field: "otelTelemetry.content", value: content, expected });
  }
  return {
    tracer,
    meter,
    redact: content === false ? undefined : content === true ? asItIs : content,
    maxContentChars: checkInteger("otelTelemetry.maxContentChars", options.maxContentChars ?? 10_000, 1),
    clock,
  };
}

function asItIs(text: string): string {
  return text;
}
