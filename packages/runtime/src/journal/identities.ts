import { InvalidValueError, type RunId } from "@ravi/kernel";

/** What no two entries of a run share. */
export type Identity = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  ...rest: readonly unknown[],
];

/** The phases that are known of a key, as bits of one number: an effect is one item of a map. */
type Phases = Map<string, number>;

/**
 * The identities of a run's entries. This is asked for every entry, so no text is put together for it, and the execution
 * that was asked for last is at hand: most runs have only one.
 */
export class Identities {
  private exec: string | undefined;
  private phases: Phases = new Map<string, number>();
  /** Made for the second execution. */
  private executions: Map<string, Phases> | undefined;

  /** Whether it is new. */
  add(exec: string, key: string, attempt: number, phase: string): boolean {
    if (exec !== this.exec) this.turnTo(exec);
    const name = nameOf(key, attempt);
    const known = this.phases.get(name) ?? 0;
    const bit = bitOf(phase);
    if ((known & bit) !== 0) return false;
    this.phases.set(name, known | bit);
    return true;
  }

  /** Adds all of them, or none: then the first that is known already comes back. */
  addAll(identities: readonly Identity[]): Identity | undefined {
    let count = 0;
    for (const identity of identities) {
      if (!this.add(identity[0], identity[1], identity[2], identity[3])) {
        for (const added of identities.slice(0, count)) this.remove(added);
        return identity;
      }
      count++;
    }
    return undefined;
  }

  private remove([exec, key, attempt, phase]: Identity): void {
    if (exec !== this.exec) this.turnTo(exec);
    const name = nameOf(key, attempt);
    this.phases.set(name, (this.phases.get(name) ?? 0) & ~bitOf(phase));
  }

  private turnTo(exec: string): void {
    if (this.exec !== undefined) {
      this.executions ??= new Map<string, Phases>().set(this.exec, this.phases);
      this.phases = this.executions.get(exec) ?? new Map<string, number>();
      this.executions.set(exec, this.phases);
    }
    this.exec = exec;
  }
}

function bitOf(phase: string): number {
  return phase === "begin" ? 1 : phase === "end" ? 2 : 4;
}

/** Nearly all are a first attempt. A line break is in no key, so that others cannot be taken for one. */
function nameOf(key: string, attempt: number): string {
  return attempt === 1 ? key : `${key}\n${attempt}`;
}

export function duplicateError(runId: RunId, [exec, key, attempt, phase]: Identity): InvalidValueError {
  return new InvalidValueError({
    field: `an entry of run ${runId}`,
    value: `${phase} of ${key}, attempt ${attempt}, in ${exec}`,
    expected: "one that is not recorded yet; a second try of an effect is a new attempt",
  });
}
