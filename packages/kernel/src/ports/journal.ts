import type { ExecId, RunId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { RunStatus } from "../agent/handle.ts";

/**
 * One recorded fact, unique by (exec, key, attempt, phase). An effect has a `begin` before anything is sent and an `end`
 * with its outcome; a `note` is a fact without an effect (an input, a status, the time).
 */
export interface JournalEntry {
  readonly exec: ExecId;
  /** `kind:name#n` */
  readonly key: string;
  readonly attempt: number;
  readonly phase: "begin" | "end" | "note";
  /** Epoch milliseconds. */
  readonly at: number;
  readonly body: JsonObject;
  /**
   * The body once more, where it is plain JSON and nobody else holds a part of it that they would change: a journal in memory may keep
   * it as it is. Of any other, and of one that was put in its place, it takes a copy, and refuses what is no JSON. It is not part of
   * the record.
   */
  readonly given?: JsonObject | undefined;
}

export interface JournalRecord extends JournalEntry {
  /** Counts from 1 in each run, without gaps. */
  readonly seq: number;
}

/** Something for a run from outside: a message, an answer, a decision, a wish to cancel. */
export interface PostedItem {
  /** A second item of the same id is dropped. */
  readonly id: string;
  readonly kind: "signal" | "message" | "decision" | "cancel";
  readonly name: string;
  readonly value: JsonValue;
  readonly at: number;
}

export interface PostedRecord extends PostedItem {
  readonly seq: number;
}

export interface RunSummary {
  readonly runId: RunId;
  /** `name@version` of the root. */
  readonly agent: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly entries: number;
}

/** Somebody listens for what is posted to a run. */
export interface JournalWatch {
  /** Posts of other processes are told as well. Where they are not, the listener has to look by itself too. */
  readonly coversAll: boolean;
  /**
   * Whether somebody waits for a post now. Where one may come from another process, this one stays alive for it meanwhile. Without
   * it, whoever waits looks by itself too, by a timer that keeps the process alive.
   */
  awaits?(isAwaited: boolean): void;
  stop(): void;
}

/** What survives a crash. Entries are appended by whoever holds the claim, and fenced by its epoch. */
export interface Journal {
  /** Null when another owner holds it. Claiming again as the same owner renews it; a claim that lapsed goes to the next. */
  claim(runId: RunId, owner: string, ttlMs: number): MaybePromise<{ readonly epoch: number } | null>;
  release(runId: RunId, epoch: number): MaybePromise<void>;
  /** Releases a run that has no entries, so that it is not listed for having been asked for. What was posted to it stays. */
  abandon?(runId: RunId, epoch: number): MaybePromise<void>;
  load(runId: RunId): MaybePromise<readonly JournalRecord[]>;
  /** All or nothing, durable when it resolves. A stale epoch is a `JournalLockedError`. */
  append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): MaybePromise<void>;
  /** Unfenced, so that another process can answer. */
  post(runId: RunId, item: PostedItem): MaybePromise<void>;
  items(runId: RunId, after: number): MaybePromise<readonly PostedRecord[]>;
  /** Calls when something may have been posted to the run, so that nobody has to look again and again. Never throws. */
  watch?(runId: RunId, listener: () => void): JournalWatch;
  list(): MaybePromise<readonly RunSummary[]>;
  delete(runId: RunId): MaybePromise<void>;
  close(): MaybePromise<void>;
}

/** Values too large for an entry. */
export interface BlobStore {
  put(bytes: Uint8Array): MaybePromise<string>;
  get(ref: string): MaybePromise<Uint8Array>;
}
