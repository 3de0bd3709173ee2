import { InvalidValueError, type JournalRecord, type RunId } from "@ravi/kernel";

/** What no two entries of a run share. */
export type Identity = readonly [
  exec: string,
  key: string,
  attempt: number,
  phase: string,
  ...rest: unknown[],
];

const PHASES: Readonly<Record<string, number>> = { begin: 1, end: 2, note: 4 };

/**
 * The identities of a run's entries. The phases of a key are bits of one number, so that an effect is one item of a map
 * and no text has to be put together for it: this is asked for every entry.
 */
export class Identities {
  private readonly executions = new Map<string, Map<string, number>>();

  constructor(records: readonly JournalRecord[] = []) {
    for (const { exec, key, attempt, phase } of records) this.add([exec, key, attempt, phase]);
  }

  /** Adds all of them, or none: then the first that is known already comes back. */
  addAll(identities: readonly Identity[]): Identity | undefined {
    for (let at = 0; at < identities.length; at++) {
      const identity = identities[at] as Identity;
      if (this.add(identity)) continue;
      for (const added of identities.slice(0, at)) this.remove(added);
      return identity;
    }
    return undefined;
  }

  private add(identity: Identity): boolean {
    const [exec, , , phase] = identity;
    let keys = this.executions.get(exec);
    if (keys === undefined) this.executions.set(exec, (keys = new Map<string, number>()));
    const key = keyOf(identity);
    const known = keys.get(key) ?? 0;
    const bit = PHASES[phase] ?? 0;
    if ((known & bit) !== 0) return false;
    keys.set(key, known | bit);
    return true;
  }

  private remove(identity: Identity): void {
    const keys = this.executions.get(identity[0]);
    const key = keyOf(identity);
    keys?.set(key, (keys.get(key) ?? 0) & ~(PHASES[identity[3]] ?? 0));
  }
}

/** Nearly all are a first attempt. A line break is in no key, so that others cannot be taken for one. */
function keyOf([, key, attempt]: Identity): string {
  return attempt === 1 ? key : `${key}\n${attempt}`;
}

export function duplicateError(runId: RunId, [exec, key, attempt, phase]: Identity): InvalidValueError {
  return new InvalidValueError({
    field: `an entry of run ${runId}`,
    value: `${phase} of ${key}, attempt ${attempt}, in ${exec}`,
    expected: "one that is not recorded yet; a second try of an effect is a new attempt",
  });
}
