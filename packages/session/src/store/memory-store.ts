import { InvalidValueError, SessionId } from "@ravi/kernel";
import { SessionLockedError } from "../errors.ts";
import { type EntryHead, headOf, type SessionEntry } from "./entry.ts";
import { type BeginOptions, copyOf, type SessionInfo, type SessionLog, type SessionStore } from "./store.ts";

interface StoredSession {
  info: SessionInfo | null;
  readonly entries: SessionEntry[];
  isOpen: boolean;
}

/** Stores sessions in memory, for as long as the store lives. Entries are copied in and out, as they would be with a file. */
export class MemorySessionStore implements SessionStore {
  private readonly sessions = new Map<string, StoredSession>();

  open(id: string): SessionLog {
    const stored = this.sessions.get(SessionId(id)) ?? { info: null, entries: [], isOpen: false };
    if (stored.isOpen) throw new SessionLockedError({ sessionId: id, owner: "this process" });
    stored.isOpen = true;
    this.sessions.set(id, stored);
    return new MemoryLog(id, stored);
  }

  list(): readonly SessionInfo[] {
    const infos = [...this.sessions.values()].flatMap(({ info }) => (info === null ? [] : [info]));
    return infos.toSorted((a, b) => a.createdAt - b.createdAt);
  }

  delete(id: string): void {
    const stored = this.sessions.get(SessionId(id));
    if (stored?.isOpen === true) throw new SessionLockedError({ sessionId: id, owner: "this process" });
    this.sessions.delete(id);
  }
}

class MemoryLog implements SessionLog {
  readonly id: string;
  readonly heads: readonly EntryHead[];
  private readonly stored: StoredSession;
  private isOpen = true;

  constructor(id: string, stored: StoredSession) {
    this.id = id;
    this.stored = stored;
    this.heads = stored.entries.map(headAt);
  }

  get info(): SessionInfo | null {
    return this.stored.info;
  }

  append(entries: readonly SessionEntry[], begin: BeginOptions): readonly EntryHead[] {
    this.check();
    this.stored.info ??= { id: this.id, createdAt: begin.at, origin: begin.origin ?? null };
    return entries.map((entry) => headAt(copyOf(entry), this.stored.entries.push(copyOf(entry)) - 1));
  }

  read(head: EntryHead): SessionEntry {
    this.check();
    const entry = this.stored.entries[head.place];
    if (entry?.id === head.id) return copyOf(entry);
    throw new InvalidValueError({
      field: "head",
      value: head.id,
      expected: `an entry of session ${this.id}`,
    });
  }

  close(): void {
    if (this.isOpen) this.stored.isOpen = false;
    this.isOpen = false;
  }

  private check(): void {
    if (!this.isOpen)
      throw new InvalidValueError({
        field: `session ${this.id}`,
        value: "closed",
        expected: "an open session",
      });
  }
}

function headAt(entry: SessionEntry, place: number): EntryHead {
  return headOf(entry, place, 1, entry);
}
