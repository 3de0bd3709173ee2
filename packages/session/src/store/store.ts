import type { MaybePromise } from "@ravi/kernel";
import type { EntryHead, SessionEntry } from "./entry.ts";

/** Where sessions are kept. */
export interface SessionStore {
  /**
   * Opens a session for writing, or begins one: a session that was never written to leaves nothing behind. Whoever has it
   * open is the only one; anybody else gets a `SessionLockedError`. Damage is a `SessionCorruptError`.
   */
  open(id: string): MaybePromise<SessionLog>;
  list(): MaybePromise<readonly SessionInfo[]>;
  /** One that is open is refused. */
  delete(id: string): MaybePromise<void>;
}

export interface SessionInfo {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly origin: SessionOrigin | null;
}

/** Where a forked session comes from. */
export type SessionOrigin = { readonly sessionId: string; readonly entryId: string };

/** One session that is open for writing. */
export interface SessionLog {
  readonly id: string;
  /** Null while nothing was written. */
  readonly info: SessionInfo | null;
  /** What was there when it was opened, in the order written. */
  readonly heads: readonly EntryHead[];
  /** On the disk when it resolves, in that order. After a crash a part from the beginning may be there. */
  append(entries: readonly SessionEntry[], begin: BeginOptions): MaybePromise<readonly EntryHead[]>;
  read(head: EntryHead): MaybePromise<SessionEntry>;
  close(): MaybePromise<void>;
}

/** What the header says, if the append is the first. */
export interface BeginOptions {
  readonly at: number;
  readonly origin?: SessionOrigin | null | undefined;
}

/** An entry as it comes back from a store: plain JSON, and nobody else's. */
export function copyOf(entry: SessionEntry): SessionEntry {
  return JSON.parse(JSON.stringify(entry)) as SessionEntry;
}
