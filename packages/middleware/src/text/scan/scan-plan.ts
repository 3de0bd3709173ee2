import { codesOf, type Detector } from "../reader.ts";

/** A detector and its index in its list. */
export interface Candidate {
  readonly detector: Detector;
  readonly index: number;
}

/** Which detectors can begin with which character, inside of a word and elsewhere. */
export interface ScanPlan {
  readonly insideWord: readonly (readonly Candidate[] | undefined)[];
  readonly elsewhere: readonly (readonly Candidate[] | undefined)[];
  /** For characters beyond ASCII, with which only exact texts and e-mail addresses begin. */
  readonly wide: ReadonlyMap<number, readonly Candidate[]>;
  /** Only the detectors of exact texts. */
  readonly literals: ReadonlyMap<number, readonly Candidate[]>;
}

const plans = new WeakMap<readonly Detector[], ScanPlan>();

/** The plan of a list of detectors; made once for each list. */
export function planOf(detectors: readonly Detector[]): ScanPlan {
  const known = plans.get(detectors);
  if (known !== undefined) return known;
  const all = detectors.map((detector, index): Candidate => ({ detector, index }));
  const elsewhere = byStart(all);
  const insideWord = byStart(all.filter(({ detector }) => !detector.startsWord));
  const ascii = Array.from({ length: 128 }, (_, code) => code);
  const plan: ScanPlan = {
    insideWord: ascii.map((code) => insideWord.get(code)),
    elsewhere: ascii.map((code) => elsewhere.get(code)),
    wide: elsewhere,
    literals: byStart(all.filter(({ detector }) => detector.isLiteral === true)),
  };
  plans.set(detectors, plan);
  return plan;
}

function byStart(candidates: readonly Candidate[]): ReadonlyMap<number, readonly Candidate[]> {
  const found = new Map<number, Candidate[]>();
  for (const candidate of candidates) {
    for (const code of new Set(codesOf(candidate.detector.starts))) {
      const list = found.get(code);
      if (list === undefined) found.set(code, [candidate]);
      else list.push(candidate);
    }
  }
  return found;
}
