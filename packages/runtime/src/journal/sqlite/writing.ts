import type { JournalRecord, RunId } from "@ravi/kernel";
import type { KnownNames } from "../entry-check.ts";
import { type EncodedEntries, joinTexts } from "../entry-codec.ts";
import { Identities } from "../identities.ts";
import { checksumSeed } from "./checksum.ts";
import type { Job } from "./group-commit.ts";
import type { StoredRun } from "./runs.ts";

/** An append that waits for its group. */
export interface AppendJob extends Job, EncodedEntries {
  readonly runId: RunId;
  readonly epoch: number;
  /** What was known of its run when it was made. */
  readonly writing: Writing | undefined;
}

/** What we know of a run that we write to. It stays true while nobody else writes, and the fence tells when somebody did. */
export interface Writing extends KnownNames {
  readonly runId: RunId;
  /** False once it was forgotten. */
  isCurrent: boolean;
  exec: string | undefined;
  key: string | undefined;
  readonly no: number;
  readonly epoch: number;
  readonly seed: number;
  entries: number;
  last: number;
  readonly identities: Identities;
  /** The `generation` in which this was last compared with the file. */
  checkedIn: number;
  /** Its appends in the present group: they become one row. */
  staged: AppendJob[] | undefined;
}

/** `checkedIn` is 0 for what was read outside a transaction: it is compared at the first append. */
export function startWriting(
  runId: RunId,
  run: StoredRun,
  records: readonly JournalRecord[],
  checkedIn: number,
): Writing {
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

/** The text of several appends as that of one. */
export function textOf(jobs: readonly AppendJob[]): string {
  const [first] = jobs;
  if (first !== undefined && jobs.length === 1) return first.text;
  return joinTexts(jobs.map(({ text }) => text));
}
