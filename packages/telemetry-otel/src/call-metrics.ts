import type { Attributes } from "@opentelemetry/api";
import type { Clock, JsonObject } from "@ravi/kernel";
import { DURATION, type Instruments, TOKENS } from "./instruments.ts";
import { otelName, otelValue } from "./names.ts";

/** Few enough values each: a backend keeps a series for every combination. */
const DIMENSIONS = ["provider", "model", "responseModel"];

/** What one model call adds to the metrics, whether or not its span is sampled. */
export class CallMetrics {
  private readonly instruments: Instruments;
  private readonly clock: Pick<Clock, "now">;
  private readonly startedAt: number;
  private readonly attributes: Attributes = { "gen_ai.operation.name": "chat" };
  private input = 0;
  private output = 0;
  /** The provider has not said what it has used: what was reserved is no measurement. */
  private isEstimated = false;

  constructor(instruments: Instruments, clock: Pick<Clock, "now">, given: JsonObject) {
    this.instruments = instruments;
    this.clock = clock;
    this.startedAt = clock.now();
    for (const key of DIMENSIONS) {
      const value = given[key];
      if (typeof value === "string") this.note(key, value);
    }
  }

  note(key: string, value: string | number | boolean): void {
    if (DIMENSIONS.includes(key)) this.attributes[otelName(key)] = otelValue(key, value);
    else if (key === "inputTokens") this.input = Number(value);
    else if (key === "outputTokens") this.output = Number(value);
    else if (key === "estimated") this.isEstimated = value === true;
  }

  /** Also of a call that was stopped: how long it took says nothing about the others. */
  fail(type: string): void {
    this.attributes["error.type"] = type;
  }

  end(): void {
    const { instruments, attributes, isEstimated } = this;
    const seconds = Math.max(0, this.clock.now() - this.startedAt) / 1_000;
    instruments.record(DURATION, seconds, attributes);
    if (isEstimated) return;
    const { "error.type": _, ...used } = attributes;
    for (const [type, tokens] of [["input", this.input] as const, ["output", this.output] as const])
      if (tokens > 0) instruments.record(TOKENS, tokens, { ...used, "gen_ai.token.type": type });
  }
}
