import { effectOf, isInLine, type Recording, SPEND } from "../engine/recording.ts";
import type { Wait } from "./recorded-waits.ts";

interface RecordedLine extends Wait {
  until: number | undefined;
}

/** The times in which calls waited for money that others had reserved. */
export function recordedLines({ records }: Recording): readonly Wait[] {
  const found: RecordedLine[] = [];
  const open = new Map<string, RecordedLine>();
  for (const record of records) {
    // In most runs nobody waits.
    if (open.size === 0 && !isInLine(record)) continue;
    const effect = effectOf({ ...record, attempt: 0 });
    const before = open.get(effect);
    // Whatever comes next of that effect: it was sent or refused, or begun again after a crash.
    if (before !== undefined) before.until = record.at;
    open.delete(effect);
    if (!record.key.startsWith(SPEND) || !isInLine(record)) continue;
    const wait = { execId: record.exec, since: record.at, until: undefined };
    found.push(wait);
    open.set(effect, wait);
  }
  return found;
}
