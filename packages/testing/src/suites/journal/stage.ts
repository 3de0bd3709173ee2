import {
  ExecId,
  type Journal,
  type JournalEntry,
  type JsonObject,
  type JsonValue,
  type PostedItem,
  RunId,
} from "@ravi/kernel";
import type { SuiteCase } from "../case.ts";
import type { VirtualClock } from "../../virtual-clock.ts";

/** What `open` of `describeJournal` gets. */
export interface JournalSetup {
  readonly clock: VirtualClock;
}

/** What a case works with. */
export interface JournalStage extends JournalSetup {
  readonly journal: Journal;
  readonly reopen: (from: Journal) => Promise<Journal>;
  readonly second: () => Promise<Journal>;
  /** Waits for many calls that were made at once. */
  readonly all: (what: string, calls: readonly Promise<unknown>[]) => Promise<void>;
}

/** One test case. */
export type JournalCase = SuiteCase<JournalStage, "reopen" | "second" | "waits" | "scopes" | "reasons">;

/** How long claims last, in milliseconds. */
export const TTL = 30_000;

export function entry(run: RunId, key: string, more: Partial<JournalEntry> = {}): JournalEntry {
  return { exec: ExecId(run), key, attempt: 1, phase: "begin", at: 1, body: { key }, ...more };
}

export function note(run: RunId, key: string, at: number, body: JsonObject): JournalEntry {
  return entry(run, key, { phase: "note", at, body });
}

export function signal(id: string, more: Partial<PostedItem> = {}): PostedItem {
  return { id, kind: "signal", name: "approval", value: { id }, at: 1, ...more };
}

/** Claims a free run and returns the epoch. */
export async function claimed(journal: Journal, run: RunId, owner = "one"): Promise<number> {
  const claim = await journal.claim(run, owner, TTL);
  if (claim === null) throw new Error(`${run} could not be claimed by ${owner}`);
  return claim.epoch;
}

/** The keys of a run's entries. Fails unless the entries are numbered from 1 without gaps. */
export async function keysOf(journal: Journal, run: RunId): Promise<string[]> {
  const records = await journal.load(run);
  records.forEach(({ seq }, index) => {
    if (seq !== index + 1) throw new Error(`entry ${index + 1} of ${run} has the number ${seq}`);
  });
  return records.map(({ key }) => key);
}

export function lengthOf(value: JsonValue | undefined): number {
  if (typeof value !== "string") throw new TypeError("expected a string");
  return value.length;
}

export const R1 = RunId("run-1");
export const R2 = RunId("run-2");
export const LOCKED = { code: "JOURNAL_LOCKED" };
export const INVALID = { code: "INVALID_VALUE" };
