import { ExecId, type JournalRecord } from "@ravi/kernel";
import { isHire } from "./recording.ts";

/** The executions that were hired and have ended. Nothing in them, or below them, is made again. */
export function endedHiresIn(records: readonly JournalRecord[]): ReadonlySet<string> {
  const ended = new Set<string>();
  for (const record of records)
    if (record.phase === "end" && isHire(record)) ended.add(ExecId(record.exec, record.key));
  return ended;
}

/** Whether the execution is one of them, or is below one. */
export function isBelowEnded(exec: ExecId, endedHires: ReadonlySet<string>): boolean {
  if (endedHires.size === 0) return false;
  for (let end = exec.length; end > 0; end = exec.lastIndexOf("/", end - 1))
    if (endedHires.has(exec.slice(0, end))) return true;
  return false;
}
