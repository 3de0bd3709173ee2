import { InvalidValueError, type RunId } from "@ravi/kernel";

/** What no two entries of a run share. */
export type Identity = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  ...rest: readonly unknown[],
];

/** What is known of a key: its phases, as bits of one number. */
interface Known {
  readonly name: string;
  phases: number;
}

type Names = Map<string, Known>;

/**
 * The identities of a run's entries. This is asked for every entry, so no text is put together for it; the execution that was asked
 * for last is at hand, as most runs have only one, and so is the key, as most effects end before another begins.
 */
export class Identities {
  private exec: string | undefined;
  private names: Names = new Map<string, Known>();
  private latest: Known | undefined;
  /** Made for the second execution. */
  private executions: Map<string, Names> | undefined;

  /** Whether it is new. */
  add(exec: string, key: string, attempt: number, phase: string): boolean {
    const known = this.known(exec, nameOf(key, attempt));
    const bit = bitOf(phase);
    if ((known.phases & bit) !== 0) return false;
    known.phases |= bit;
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
    this.known(exec, nameOf(key, attempt)).phases &= ~bitOf(phase);
  }

  private known(exec: string, name: string): Known {
    if (exec !== this.exec) this.turnTo(exec);
    if (this.latest?.name === name) return this.latest;
    let known = this.names.get(name);
    if (known === undefined) this.names.set(name, (known = { name, phases: 0 }));
    return (this.latest = known);
  }

  private turnTo(exec: string): void {
    if (this.exec !== undefined) {
      this.executions ??= new Map<string, Names>().set(this.exec, this.names);
      this.names = this.executions.get(exec) ?? new Map<string, Known>();
      this.executions.set(exec, this.names);
    }
    this.exec = exec;
    this.latest = undefined;
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
