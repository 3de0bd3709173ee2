import {
  type Attributes,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  type MetricOptions,
  metrics,
} from "@opentelemetry/api";
import { NAME, SCOPE } from "./scope.ts";

export const DURATION = "gen_ai.client.operation.duration";
export const TOKENS = "gen_ai.client.token.usage";

/** The buckets that the conventions recommend. */
const KNOWN: Readonly<Record<string, MetricOptions>> = {
  [DURATION]: {
    description: "GenAI operation duration.",
    unit: "s",
    advice: {
      explicitBucketBoundaries: [
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
      ],
    },
  },
  [TOKENS]: {
    description: "Number of input and output tokens used.",
    unit: "{token}",
    advice: {
      explicitBucketBoundaries: [
        1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
        67_108_864,
      ],
    },
  },
};

/** The instruments, one for each name. All are histograms, whose sum and count say what a counter would. */
export class Instruments {
  private readonly given: Meter | undefined;
  private provider: MeterProvider | undefined;
  private meter: Meter | undefined;
  private readonly byName = new Map<string, Histogram>();

  constructor(given: Meter | undefined) {
    this.given = given;
  }

  /** Whether nobody measures. */
  get isNoop(): boolean {
    return this.given === undefined && this.currentMeter() === createNoopMeter();
  }

  record(name: string, value: number, attributes: Attributes): void {
    const meter = this.currentMeter();
    let instrument = this.byName.get(name);
    if (instrument === undefined) {
      instrument = meter.createHistogram(name, Object.hasOwn(KNOWN, name) ? KNOWN[name] : undefined);
      this.byName.set(name, instrument);
    }
    instrument.record(value, attributes);
  }

  /** Asked for again each time: a meter that was made before the SDK was registered would measure nothing for ever. */
  private currentMeter(): Meter {
    if (this.given !== undefined) return this.given;
    const provider = metrics.getMeterProvider();
    if (this.meter !== undefined && this.provider === provider) return this.meter;
    this.byName.clear();
    this.provider = provider;
    return (this.meter = provider.getMeter(NAME, undefined, SCOPE));
  }
}
