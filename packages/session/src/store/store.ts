import type { MaybePromise } from "@ravi/kernel";
import type { EntryHead, SessionEntry } from "./entry.ts";

/** Where sessions are stored. */
export interface SessionStore {
  /**
   * Opens a session for writing, or begins a new one; a session that is never written to leaves nothing behind. Throws a
   * `SessionLockedError` if it is open elsewhere, and a `SessionCorruptError` if it is damaged.
   */
  open(id: string): MaybePromise<SessionLog>;
  /** All sessions that were written to, the oldest first. */
  list(): MaybePromise<readonly SessionInfo[]>;
  /** Removes a session, if it exists. Throws a `SessionLockedError` if it is open. */
  delete(id: string): MaybePromise<void>;
}

export interface SessionInfo {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Where it was forked from; null if it was not. */
  readonly origin: SessionOrigin | null;
}

/** The session and the entry that a session was forked from. */
export type SessionOrigin = { readonly sessionId: string; readonly entryId: string };

/** A session that is open for writing. */
export interface SessionLog {
  readonly id: string;
  /** Null until something is written. */
  readonly info: SessionInfo | null;
  /** The entries that were there when it was opened, in the order written. */
  readonly heads: readonly EntryHead[];
  /**
   * Stores entries in this order; they are on the disk when it resolves. After a crash only the first ones of them may be
   * there.
   */
  append(entries: readonly SessionEntry[], begin: BeginOptions): MaybePromise<readonly EntryHead[]>;
  /** The whole entry of a head. */
  read(head: EntryHead): MaybePromise<SessionEntry>;
  /** Releases the session, so that others can open it. */
  close(): MaybePromise<void>;
}

/** What the header of a new session says; used only by the first append. */
export interface BeginOptions {
  readonly at: number;
  readonly origin?: SessionOrigin | null | undefined;
}

/** A copy of an entry as a store would return it: plain JSON that is shared with nobody. */
export function copyOf(entry: SessionEntry): SessionEntry {
  return JSON.parse(JSON.stringify(entry)) as SessionEntry;
}
