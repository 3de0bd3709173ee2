import {
  type ChatMessage,
  deepFreeze,
  InvalidValueError,
  isPromiseLike,
  isRaviError,
  type JsonValue,
  sameValue,
} from "@ravi/kernel";
import { checkMessage } from "@ravi/kernel/loop";
import { SessionCorruptError } from "../errors.ts";
import {
  type CustomEntry,
  ENTRY_ID,
  type EntryHead,
  isOutsidePath,
  type SessionEntry,
} from "../store/entry.ts";
import type { SessionInfo, SessionLog, SessionOrigin } from "../store/store.ts";
import { expand } from "./expand.ts";
import type { Redactor } from "./redact.ts";
import { SessionTree } from "./tree.ts";
import { validPrompt } from "./valid-prompt.ts";

/** An entry without id, parent and time, which it gets when it is written. */
export type Draft = DraftOf<SessionEntry>;
type DraftOf<E> = E extends SessionEntry ? Omit<E, "id" | "parent" | "at"> : never;

/** How the entries of a turn are numbered. */
interface Numbering {
  readonly prefix: string;
  next: number;
  /** The numbers of the custom entries that were written or found: all up to this one, and some beyond. */
  customs: number;
  readonly beyond: Set<number>;
}

/** The open session, as extensions and users see it. */
export interface SessionManager {
  readonly sessionId: string;
  /** Null until something is written. */
  readonly info: SessionInfo | null;
  /** The id of the entry where the conversation stands; null before its first message. */
  readonly leaf: string | null;
  /** Labels by entry id. */
  readonly labels: ReadonlyMap<string, string>;
  /** All entries, in the order written. */
  entries(): readonly EntryHead[];
  /** The entries from the root to the given entry. Default: to the leaf. Throws an `InvalidValueError` if there is none of this id. */
  path(to?: string | null): readonly EntryHead[];
  /** Reads an entry. Rejects if there is none of this id. */
  read(id: string): Promise<SessionEntry>;
  /** What the model now sees of the conversation: repaired, so that each tool call has its result and call ids are unique. */
  messages(): Promise<readonly ChatMessage[]>;
  /** Labels an entry; null removes the label. */
  label(id: string, label: string | null): Promise<void>;
  /** Stores data of an extension, which no model sees, and returns the id of its entry. `data` must be plain JSON. */
  appendCustom(name: string, data: JsonValue): Promise<string>;
}

export interface SessionOptions {
  readonly log: SessionLog;
  readonly redact: Redactor;
  readonly now: () => number;
  readonly newId: () => string;
}

/** One conversation: its log, its tree, and the entry where it stands. */
export class Session implements SessionManager {
  readonly sessionId: string;
  private readonly options: SessionOptions;
  private readonly tree = new SessionTree();
  /** Where the conversation stands in memory. The file says so only with the next write. */
  private cursor: string | null;
  /** The messages that the model sees at `windowAt`, as stored. */
  private window: ChatMessage[] | undefined;
  private windowAt: string | null = null;
  private readonly ids = new WeakMap<ChatMessage, string>();
  private origin: SessionOrigin | null = null;
  /** Writes one entry after the other, whoever appends it, so that each one follows the one before. */
  private tail: Promise<unknown> = Promise.resolve();
  private numbering: Numbering | undefined;
  /** During a replay: where the conversation stood before the turn went back to its start. */
  private ahead: string | null = null;
  /** Whether nothing more can be written here, until the session is opened again. */
  isLost = false;

  constructor(options: SessionOptions) {
    this.options = options;
    const { log } = options;
    this.sessionId = log.id;
    for (const [at, head] of log.heads.entries()) {
      const problem = this.tree.add(head);
      if (problem !== undefined)
        throw new SessionCorruptError({ sessionId: log.id, line: at + 2, position: head.place, problem });
    }
    this.cursor = this.tree.leaf;
  }

  get info(): SessionInfo | null {
    return this.options.log.info;
  }
  get leaf(): string | null {
    return this.cursor;
  }
  get labels(): ReadonlyMap<string, string> {
    return this.tree.labels;
  }
  entries(): readonly EntryHead[] {
    return [...this.tree.all()];
  }
  path(to: string | null = this.cursor): readonly EntryHead[] {
    if (to !== null) this.requireEntry(to);
    return this.tree.path(to);
  }
  has(id: string): boolean {
    return this.tree.get(id) !== undefined;
  }

  async read(id: string): Promise<SessionEntry> {
    return this.options.log.read(this.requireEntry(id));
  }

  async messages(): Promise<readonly ChatMessage[]> {
    if (this.window === undefined || this.windowAt !== this.cursor) {
      const at = this.cursor;
      const placed = await expand(this.path(at), (head) => this.options.log.read(head));
      this.window = placed.map(({ message }) => message);
      this.windowAt = at;
      for (const { message, id } of placed) if (id !== null) this.ids.set(message, id);
    }
    // A copy, because the window grows while callers use the list.
    return Object.freeze(validPrompt([...this.window]));
  }

  /** The id of a message that `messages` returned; undefined if a compaction or a repair has produced it. */
  idOf(message: ChatMessage): string | undefined {
    return this.ids.get(message);
  }

  async label(id: string, label: string | null): Promise<void> {
    this.requireEntry(id);
    if (label !== null && typeof label !== "string")
      throw new InvalidValueError({ field: "label", value: label, expected: "a string, or null for none" });
    if ((this.labels.get(id) ?? null) === label) return;
    // Not a number of the turn's: a replay, in which nobody labels anything, would number its entries differently.
    await this.append({ kind: "label", target: id, label }, this.options.newId());
  }

  async appendCustom(name: string, data: JsonValue): Promise<string> {
    if (typeof name !== "string" || name === "")
      throw new InvalidValueError({ field: "name", value: name, expected: "a non-empty string" });
    const draft = { kind: "custom", name, data: plainCopy(data) } as const;
    const { numbering } = this;
    return numbering === undefined
      ? this.append(draft)
      : this.inOrder(() => this.appendCustomNow(draft, numbering));
  }

  /**
   * Writes an entry after the current one and moves there. If an entry with this id exists at the same place with the same
   * content, nothing is written: a replayed run finds what it wrote before. A message that was taken back, because its turn had failed, and
   * after which others have spoken, is said again after them.
   */
  append(draft: Draft, id: string = this.nextId()): Promise<string> {
    return this.inOrder(() => this.appendNow(draft, id));
  }

  private inOrder(write: () => Promise<string>): Promise<string> {
    const result = this.tail.then(write);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /**
   * From now on ids are the prefix and a number, so that a replayed turn gives the same ids to the same entries. Undefined:
   * random ids again.
   */
  numberIds(prefix: string | undefined): void {
    this.numbering = prefix === undefined ? undefined : { prefix, next: 1, customs: 0, beyond: new Set() };
    this.ahead = null;
  }

  /** The end of a turn, and of what extensions do after it. What it has passed in a replay is kept until `catchUp`. */
  endTurn(): void {
    this.numbering = undefined;
  }

  /** After a turn that was replayed: goes to where others have taken the session meanwhile. */
  catchUp(): void {
    const { ahead, cursor } = this;
    this.ahead = null;
    if (cursor === null || this.path(ahead).some(({ id }) => id === cursor)) this.cursor = ahead ?? cursor;
  }

  /** Whether a new entry of this id would be on a branch of its own, and hide what others have added since the turn that is replayed. */
  wouldHide(id: string): boolean {
    const { ahead, cursor } = this;
    return ahead !== null && ahead !== cursor && !this.has(id) && this.continuesFromCursor(ahead);
  }

  /** During a replay: whether others have built on what the turn has written. It cannot be taken back without what they have said. */
  get isBuiltOn(): boolean {
    const { ahead, own } = this;
    const path = ahead === null ? [] : this.path(ahead);
    const first = path.findIndex(({ id }) => id.startsWith(own));
    return first !== -1 && path.slice(first).some(({ id }) => !id.startsWith(own));
  }

  /** Where the conversation stood before what the running turn has written, up to that entry. Default: to the current one. */
  beforeTurn(to: string | null = this.cursor): string | null {
    return this.path(to).findLast(({ id }) => !id.startsWith(this.own))?.id ?? null;
  }

  /** Goes back to where the turn that is now replayed began. */
  returnTo(id: string | null): void {
    this.ahead = this.cursor;
    this.moveTo(id);
  }

  /** What the ids of the running turn's entries begin with. */
  private get own(): string {
    return `${this.numbering?.prefix}-`;
  }

  nextId(): string {
    const { numbering } = this;
    return numbering === undefined ? this.options.newId() : `${numbering.prefix}-${numbering.next++}`;
  }

  private async appendNow(draft: Draft, id: string): Promise<string> {
    for (let n = 1; ; n++) {
      const name = storableId(n === 1 ? id : `${id}.${n}`);
      const head = this.tree.get(name);
      if (head !== undefined && draft.kind === "message" && this.isAhead && !this.isOnTheWay(name)) continue;
      const parent = this.parentOf(draft, head);
      const entry = this.options.redact.entry({
        ...draft,
        id: name,
        parent,
        at: this.options.now(),
      });
      if (head === undefined) {
        await this.write(entry);
        if (draft.kind === "message") this.ahead = null;
        return name;
      }
      if (head.parent === parent && (await this.isSame(head, entry))) {
        this.moveCursor(entry);
        return name;
      }
    }
  }

  /**
   * Custom entries have numbers of their own, and are found again by what they say: those of extensions are written again in a replay,
   * those that came from outside are not, and nobody knows which is which.
   */
  private async appendCustomNow(draft: DraftOf<CustomEntry>, numbering: Numbering): Promise<string> {
    const { redact, now } = this.options;
    const { beyond } = numbering;
    // A turn that was stopped may have left some out, so they need not come in the order of their numbers.
    for (let n = numbering.customs + 1; ; n++) {
      if (beyond.has(n)) continue;
      const id = storableId(`${numbering.prefix}-custom${n}`);
      const head = this.tree.get(id);
      // In a replay, what is new follows what others have added. The replay itself stays where it is.
      const isBehind = head === undefined && this.isAhead;
      const place = isBehind ? this.ahead : this.cursor;
      const parent = head === undefined ? place : head.parent;
      const entry = redact.entry({ ...draft, id, parent, at: now() });
      if (head === undefined) {
        await this.write(entry, !isBehind);
        if (isBehind) this.ahead = id;
      } else if (!(await this.isSame(head, entry))) {
        continue;
      } else if (this.followsCursor(head) && this.isOnTheWay(id)) {
        this.moveCursor(entry);
      }
      beyond.add(n);
      while (beyond.delete(numbering.customs + 1)) numbering.customs++;
      return id;
    }
  }

  /** Whether what a replay has not reached yet follows that entry. What is left of an attempt that failed is beside it. */
  private isOnTheWay(id: string): boolean {
    return this.ahead === null || this.path(this.ahead).some((entry) => entry.id === id);
  }

  /** Whether the conversation goes on behind the cursor, which a replay has not reached yet. */
  private get isAhead(): boolean {
    const { ahead, cursor } = this;
    return (
      ahead !== null &&
      ahead !== cursor &&
      (cursor === null || this.path(ahead).some(({ id }) => id === cursor))
    );
  }

  /**
   * The parent of an entry. Other runs may have written after what a turn wrote before it was interrupted. The replayed turn
   * then continues after them, and not on a branch of its own, where their messages would not be seen. A compaction keeps its
   * parent, since it refers to what comes before it.
   */
  private parentOf({ kind }: Draft, head: EntryHead | undefined): string | null {
    if (isOutsidePath(kind)) return null;
    if (head !== undefined && this.followsCursor(head)) return head.parent;
    const behind = head === undefined ? this.ahead : head.parent;
    return kind === "message" && this.continuesFromCursor(behind) ? behind : this.cursor;
  }

  /** Whether the path to an entry continues from the current one without passing an entry of this turn, other than a custom one. */
  private continuesFromCursor(id: string | null): boolean {
    const { own } = this;
    for (let at = id; at !== this.cursor; at = this.tree.get(at)?.parent ?? null)
      if (at === null || (at.startsWith(own) && this.tree.get(at)?.kind !== "custom")) return false;
    return true;
  }

  /** Whether an entry follows the current one, with at most custom entries in between, which nobody may write in a replay. */
  private followsCursor({ parent }: EntryHead): boolean {
    let at = parent;
    while (at !== null && at !== this.cursor && this.tree.get(at)?.kind === "custom")
      at = this.tree.get(at)?.parent ?? null;
    return at === this.cursor;
  }

  /** Moves to another entry. Nothing is written; the next entry names its parent. */
  moveTo(id: string | null): void {
    if (id !== null) this.requirePathEntry(id);
    this.cursor = id;
  }

  /**
   * Writes where the conversation stands, unless the file says so already, or another run has continued from there before this
   * replay.
   */
  async writeLeaf(): Promise<void> {
    if (this.ahead !== null && this.ahead === this.tree.leaf && this.continuesFromCursor(this.ahead)) return;
    this.ahead = null;
    // Not a number of the turn's: one that was written before may say the same, and others have spoken since.
    if (this.tree.leaf !== this.cursor)
      await this.append({ kind: "leaf", target: this.cursor }, this.options.newId());
  }

  /** Copies the path to an entry of another session, with its labels, and records the origin. A note adds a branch entry. */
  async copyFrom(other: Session, entryId: string, note?: string): Promise<void> {
    other.requirePathEntry(entryId);
    const { now, log, redact } = this.options;
    const newId = (): string => storableId(this.options.newId());
    const entries = new Map<string, SessionEntry>();
    for (const { id } of other.path(entryId)) {
      const entry = await other.read(id);
      const prompt = entry.kind === "message" ? entry.prompt : undefined;
      if (prompt !== undefined && !entries.has(prompt)) entries.set(prompt, await other.read(prompt));
      entries.set(id, entry);
    }
    for (const [target, label] of other.labels) {
      const id = newId();
      if (entries.has(target)) entries.set(id, { kind: "label", id, parent: null, at: now(), target, label });
    }
    if (note !== undefined) {
      const id = newId();
      entries.set(id, redact.entry({ kind: "branch", id, parent: entryId, at: now(), note }));
    }
    this.origin = { sessionId: other.sessionId, entryId };
    const heads = await log.append([...entries.values()], { at: now(), origin: this.origin });
    for (const head of heads) this.tree.add(head);
    this.cursor = this.tree.leaf;
  }

  async close(): Promise<void> {
    // Entries that were appended without awaiting them are still written.
    await this.tail;
    await this.options.log.close();
  }

  private async write(entry: SessionEntry, moves = true): Promise<void> {
    const { log, now } = this.options;
    try {
      const written = log.append([entry], { at: now(), origin: this.origin });
      const [head] = isPromiseLike(written) ? await written : written;
      if (head !== undefined) this.tree.add(head);
    } catch (error) {
      this.isLost = isForGood(error);
      throw error;
    }
    if (moves) this.moveCursor(entry);
  }

  private moveCursor(entry: SessionEntry): void {
    if (isOutsidePath(entry.kind)) return;
    const follows = this.window !== undefined && this.windowAt === entry.parent;
    this.cursor = entry.id;
    if (!follows || entry.kind === "compaction") return;
    this.windowAt = entry.id;
    if (entry.kind !== "message") return;
    this.window?.push(deepFreeze(entry.message));
    this.ids.set(entry.message, entry.id);
  }

  private async isSame(head: EntryHead, entry: SessionEntry): Promise<boolean> {
    const { at: _, ...written } = await this.read(head.id);
    const { at: __, ...expected } = entry;
    return sameValue(written, JSON.parse(JSON.stringify(expected)));
  }

  /** Throws if the entry is not part of the conversation (a label, say), since one cannot move there. */
  private requirePathEntry(id: string): void {
    if (!isOutsidePath(this.requireEntry(id).kind)) return;
    throw new InvalidValueError({
      field: "entry id",
      value: id,
      expected: "an entry that is part of the conversation (not a leaf, label or prompt)",
    });
  }

  private requireEntry(id: string): EntryHead {
    const head = this.tree.get(id);
    if (head !== undefined) return head;
    const expected = `an entry of session ${this.sessionId}`;
    throw new InvalidValueError({ field: "entry id", value: id, expected });
  }
}

/** Whether somebody else has the session, or its file is in a state in which nothing can be added. */
function isForGood(error: unknown): boolean {
  return isRaviError(error, "JOURNAL_LOCKED") || (isRaviError(error, "JOURNAL_FAILED") && error.final);
}

/** A line with any other id could not be read again. */
function storableId(id: string): string {
  if (ENTRY_ID.test(id)) return id;
  const expected = "1 to 120 letters (a-z, A-Z), digits, '_', '.' or '-'";
  throw new InvalidValueError({ field: "entry id", value: id, expected });
}

/** A copy as it will be read again, so that later changes by the caller have no effect. Throws if it is not plain JSON. */
function plainCopy(data: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(checkMessage("data", data))) as JsonValue;
}
