import type { Figures } from "../harness/child.ts";

/** One measurement: its figures, or why there are none. */
export interface Sample {
  readonly subject: string;
  readonly scenario: string;
  readonly round: number;
  readonly figures?: Figures | undefined;
  readonly error?: string | undefined;
}

/** The order of the subjects in a round: each round begins with another one, and every other round goes backwards. */
export function turnsOf(subjects: readonly string[], round: number): readonly string[] {
  const from = round % subjects.length;
  const turns = [...subjects.slice(from), ...subjects.slice(0, from)];
  return round % 2 === 0 ? turns : turns.toReversed();
}

export interface RoundsOptions {
  readonly subjects: readonly string[];
  readonly scenarios: readonly string[];
  readonly repeats: number;
  readonly measure: (subject: string, scenario: string) => Promise<Figures>;
  readonly tell: (sample: Sample, done: number, of: number) => void;
  readonly signal: AbortSignal;
}

/** Measures all subjects in turn. A failure becomes a sample with an error; after an abort, the samples so far are returned. */
export async function measureRounds(options: RoundsOptions): Promise<readonly Sample[]> {
  const { subjects, scenarios, repeats, measure, tell, signal } = options;
  const samples: Sample[] = [];
  const of = subjects.length * scenarios.length * repeats;
  for (let round = 0; round < repeats; round++) {
    for (const scenario of scenarios) {
      for (const subject of turnsOf(subjects, round)) {
        const sample = await measured({ subject, scenario, round }, measure);
        if (signal.aborted) return samples;
        samples.push(sample);
        tell(sample, samples.length, of);
      }
    }
  }
  return samples;
}

async function measured(
  place: Pick<Sample, "subject" | "scenario" | "round">,
  measure: RoundsOptions["measure"],
): Promise<Sample> {
  try {
    return { ...place, figures: await measure(place.subject, place.scenario) };
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? error.stderr : error;
    return { ...place, error: String(said).trim().slice(0, 500) };
  }
}
