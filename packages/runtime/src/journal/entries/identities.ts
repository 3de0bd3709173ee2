import { InvalidValueError, type RunId } from "@ravi/kernel";
import { type Indexed, TextIndex } from "@ravi/kernel/loop";

/** What must be unique among the entries of a run. */
export type Identity = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  ...rest: readonly unknown[],
];

/** A key and the phases that are recorded for it, as bits of one number. */
interface Known extends Indexed<Known> {
  phases: number;
}

/** The keys of one execution. */
class Names extends TextIndex<Known> {
  readonly exec: string;
  /** The last key, since most effects of an execution end before another begins. */
  latest: Known | undefined;

  constructor(exec: string) {
    super();
    this.exec = exec;
  }
}

/** The identities of a run's entries. It is asked for every entry, so it builds no strings. */
export class Identities {
  /** A `Map`, unlike that of the keys: an execution is looked up for each of its entries, and its id keeps its hash. */
  private readonly executions = new Map<string, Names>();
  /** The last execution, since most runs have only one. */
  private names: Names | undefined;

  /** Whether there is an entry of this execution. */
  has(exec: string): boolean {
    if (this.names?.exec === exec) return true;
    const names = this.executions.get(exec);
    if (names !== undefined) this.names = names;
    return names !== undefined;
  }

  /** Adds an identity. Returns whether it is new. */
  add(exec: string, key: string, attempt: number, phase: string): boolean {
    const known = this.known(exec, nameOf(key, attempt));
    const bit = bitOf(phase);
    if ((known.phases & bit) !== 0) return false;
    known.phases |= bit;
    return true;
  }

  /** Adds all of them, or none: then it returns the first one that is known already. */
  addAll(identities: readonly Identity[]): Identity | undefined {
    let count = 0;
    for (const identity of identities) {
      if (!this.add(identity[0], identity[1], identity[2], identity[3])) {
        for (const [exec, key, attempt, phase] of identities.slice(0, count))
          this.known(exec, nameOf(key, attempt)).phases &= ~bitOf(phase);
        return identity;
      }
      count++;
    }
    return undefined;
  }

  private known(exec: string, name: string): Known {
    const names = this.names?.exec === exec ? this.names : this.switchTo(exec);
    if (names.latest?.text === name) return names.latest;
    const hash = names.hashOf(name);
    let known = names.get(name, hash);
    if (known === undefined) names.add((known = { text: name, phases: 0, hash, alike: undefined }));
    return (names.latest = known);
  }

  private switchTo(exec: string): Names {
    let names = this.executions.get(exec);
    if (names === undefined) this.executions.set(exec, (names = new Names(exec)));
    return (this.names = names);
  }
}

function bitOf(phase: string): number {
  return phase === "begin" ? 1 : phase === "end" ? 2 : 4;
}

/**
 * The key alone for a first attempt, which nearly all are. No key contains a line break, so the names of other attempts cannot
 * collide.
 */
function nameOf(key: string, attempt: number): string {
  return attempt === 1 ? key : `${key}\n${attempt}`;
}

/** The error for an entry that is recorded already. */
export function duplicateError(runId: RunId, [exec, key, attempt, phase]: Identity): InvalidValueError {
  return new InvalidValueError({
    field: `an entry of run ${runId}`,
    value: `${phase} of ${key}, attempt ${attempt}, in ${exec}`,
    expected: "an entry that is not recorded yet; a retry needs a new attempt number",
  });
}
