import { ExecId, type JournalRecord } from "@ravi/kernel";
import { isHire, type Recording } from "../engine/recording.ts";

/** A hire as the journal has it. */
export interface RecordedHire {
  readonly execId: ExecId;
  readonly begin: JournalRecord;
  /** Undefined if the child had not ended. */
  end: JournalRecord | undefined;
}

/** All hires in the journal of a run. */
export interface RecordedHires {
  /** In the order in which they were begun, so that a parent comes before its children. */
  readonly all: readonly RecordedHire[];
  /** Their begins and ends, in the order of the journal. */
  readonly entries: readonly { readonly phase: "begin" | "end"; readonly hire: RecordedHire }[];
}

/** Collects the hires from the journal of a run. */
export function hiresIn({ records }: Recording): RecordedHires {
  const hires = new Map<ExecId, RecordedHire>();
  const entries: RecordedHires["entries"][number][] = [];
  for (const record of records) {
    if (!isHire(record)) continue;
    const execId = ExecId(record.exec, record.key);
    if (record.phase === "begin") {
      const hire: RecordedHire = { execId, begin: record, end: undefined };
      hires.set(execId, hire);
      entries.push({ phase: "begin", hire });
      continue;
    }
    const hire = hires.get(execId);
    if (hire === undefined) continue;
    hire.end = record;
    entries.push({ phase: "end", hire });
  }
  return { all: [...hires.values()], entries };
}
