import type { JournalRecord, RunId } from "@ravi/kernel";
import type { KnownNames } from "../entries/entry-check.ts";
import { type EncodedEntries, joinTexts } from "../entries/entry-codec.ts";
import { Identities } from "../entries/identities.ts";
import { checksumSeed } from "./checksum.ts";
import type { Job } from "./group-commit.ts";
import type { StoredRun } from "./runs.ts";

/** An append that waits for its group. */
export interface AppendJob extends Job, EncodedEntries {
  readonly runId: RunId;
  readonly epoch: number;
  /** What was known of its run when the job was created. */
  readonly writing: WriteState | undefined;
}

/** What is known of a run that is being written. It stays true while nobody else writes, and the fence tells if somebody did. */
export interface WriteState extends KnownNames {
  readonly runId: RunId;
  /** False once it was dropped. */
  isCurrent: boolean;
  exec: string | undefined;
  key: string | undefined;
  readonly no: number;
  readonly epoch: number;
  readonly seed: number;
  entries: number;
  last: number;
  readonly identities: Identities;
  /** The `generation` in which it was last compared with the file. */
  checkedIn: number;
  /** Its appends in the current group. They become one row. */
  staged: AppendJob[] | undefined;
}

/** `checkedIn` is 0 if the run was read outside a transaction: it is then compared at the first append. */
export function newWriteState(
  runId: RunId,
  run: StoredRun,
  records: readonly JournalRecord[],
  checkedIn: number,
): WriteState {
  const { no, fence, entries, last } = run;
  const identities = new Identities();
  for (const { exec, key, attempt, phase } of records) identities.add(exec, key, attempt, phase);
  return {
    runId,
    isCurrent: true,
    exec: undefined,
    key: undefined,
    no,
    epoch: fence,
    seed: checksumSeed(runId, no),
    entries,
    last,
    identities,
    checkedIn,
    staged: undefined,
  };
}

/** Joins the texts of several appends. */
export function textOf(jobs: readonly AppendJob[]): string {
  const [first] = jobs;
  if (first !== undefined && jobs.length === 1) return first.text;
  return joinTexts(jobs.map(({ text }) => text));
}
