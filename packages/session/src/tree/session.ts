import { type ChatMessage, InvalidValueError, isPromiseLike, type JsonValue, sameValue } from "@ravi/kernel";
import { SessionCorruptError } from "../errors.ts";
import { ENTRY_ID, type EntryHead, isAside, type MessageEntry, type SessionEntry } from "../store/entry.ts";
import type { SessionInfo, SessionLog, SessionOrigin } from "../store/store.ts";
import { expand } from "./expand.ts";
import type { Redactor } from "./redact.ts";
import { SessionTree } from "./tree.ts";
import { validPrompt } from "./valid-prompt.ts";

/** An entry before it has its place. */
export type Draft = DraftOf<SessionEntry>;
type DraftOf<E> = E extends SessionEntry ? Omit<E, "id" | "parent" | "at"> : never;

/** What extensions and users see of the session that is open. */
export interface SessionManager {
  readonly sessionId: string;
  /** Null while nothing was written. */
  readonly info: SessionInfo | null;
  /** Where the conversation stands; null before its first message. */
  readonly leaf: string | null;
  readonly labels: ReadonlyMap<string, string>;
  /** All entries, in the order written. */
  entries(): readonly EntryHead[];
  /** Those from the root to an entry, or to the leaf. */
  path(to?: string | null): readonly EntryHead[];
  read(id: string): Promise<SessionEntry>;
  /** What the model sees of the conversation now: paired, with unique ids. */
  messages(): Promise<readonly ChatMessage[]>;
  /** Names an entry; null takes the name off. */
  label(id: string, label: string | null): Promise<void>;
  /** Something of an extension's own, that no model sees. */
  appendCustom(name: string, data: JsonValue): Promise<string>;
}

export interface SessionOptions {
  readonly log: SessionLog;
  readonly redact: Redactor;
  readonly now: () => number;
  readonly newId: () => string;
}

/** One conversation: its log, its tree, and where it stands. */
export class Session implements SessionManager {
  readonly sessionId: string;
  private readonly options: SessionOptions;
  private readonly tree = new SessionTree();
  /** Where it stands here. The file may lag behind until something is written. */
  private cursor: string | null;
  /** The messages at `windowAt`, as written. */
  private window: ChatMessage[] | undefined;
  private windowAt: string | null = null;
  private ids = new WeakMap<ChatMessage, string>();
  private origin: SessionOrigin | null = null;
  /** One entry after the other, whoever writes it: each follows the one before. */
  private tail: Promise<unknown> = Promise.resolve();
  private numbering: { readonly prefix: string; next: number } | undefined;
  /** Where it stood when a turn that is replayed went back to where it began. */
  private ahead: string | null = null;

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
    return this.tree.path(to);
  }
  has(id: string): boolean {
    return this.tree.get(id) !== undefined;
  }

  async read(id: string): Promise<SessionEntry> {
    return this.options.log.read(this.need(id));
  }

  async messages(): Promise<readonly ChatMessage[]> {
    if (this.window === undefined || this.windowAt !== this.cursor) {
      const at = this.cursor;
      const placed = await expand(this.path(at), (head) => this.options.log.read(head));
      this.window = placed.map(({ message }) => message);
      this.windowAt = at;
      this.ids = new WeakMap(placed.flatMap(({ message, id }) => (id === null ? [] : [[message, id]])));
    }
    // A list of its own: the window grows while others look at it.
    return Object.freeze(validPrompt([...this.window]));
  }

  /** The entry of a message that `messages` gave; none for one that a compaction or a repair has made. */
  idOf(message: ChatMessage): string | undefined {
    return this.ids.get(message);
  }

  async label(id: string, label: string | null): Promise<void> {
    this.need(id);
    await this.append({ kind: "label", target: id, label });
  }

  async appendCustom(name: string, data: JsonValue): Promise<string> {
    return this.append({ kind: "custom", name, data: plainCopy(data) });
  }

  /**
   * Writes an entry behind where it stands, and stands there. With an id that is there already, at the same place and with the
   * same content, nothing is written: a run that is replayed finds what it wrote before.
   */
  append(draft: Draft, id: string = this.nextId()): Promise<string> {
    const result = this.tail.then(() => this.appendNow(draft, id));
    this.tail = result.catch(() => undefined);
    return result;
  }

  /** Ids count from here: a turn that is replayed gives the same to the same entries. Undefined: any will do. */
  number(prefix: string | undefined): void {
    this.numbering = prefix === undefined ? undefined : { prefix, next: 1 };
    this.ahead = null;
  }

  /** Stands where a turn began that is replayed now. */
  returnTo(id: string | null): void {
    this.ahead = this.cursor;
    this.moveTo(id);
  }

  nextId(): string {
    const { numbering } = this;
    return numbering === undefined ? this.options.newId() : `${numbering.prefix}-${numbering.next++}`;
  }

  private async appendNow(draft: Draft, id: string): Promise<string> {
    if (!ENTRY_ID.test(id))
      throw new InvalidValueError({
        field: "entry id",
        value: id,
        expected: "1 to 120 of a-z, A-Z, 0-9, _, . and -",
      });
    for (let n = 1; ; n++) {
      const name = n === 1 ? id : `${id}.${n}`;
      const head = this.tree.get(name);
      const parent = this.parentOf(draft, head);
      const entry = this.options.redact.entry({
        ...draft,
        id: name,
        parent,
        at: this.options.now(),
      });
      if (head === undefined) {
        if (draft.kind === "message") this.ahead = null;
        await this.write(entry);
        return name;
      }
      if (head.parent === parent && (await this.isSame(head, entry))) {
        this.stand(entry);
        return name;
      }
    }
  }

  /**
   * What an entry follows. Others may have spoken behind what a turn wrote before it was interrupted: the turn goes on behind
   * them, and not beside them, where nobody would see what they said. A compaction speaks of what stands before it, and stays.
   */
  private parentOf({ kind }: Draft, head: EntryHead | undefined): string | null {
    if (isAside(kind)) return null;
    const behind = head === undefined ? this.ahead : head.parent;
    return kind === "message" && this.leadsOn(behind) ? behind : this.cursor;
  }

  /** Whether the way to an entry leads on from here, over nothing that the turn itself has written. */
  private leadsOn(id: string | null): boolean {
    const own = `${this.numbering?.prefix}-`;
    for (let at = id; at !== this.cursor; at = this.tree.get(at)?.parent ?? null)
      if (at === null || at.startsWith(own)) return false;
    return true;
  }

  /** Stands at another entry. Nothing is written: the next entry says where it follows. */
  moveTo(id: string | null): void {
    if (id !== null) this.needPlace(id);
    this.cursor = id;
  }

  /** Makes the file say where it stands, if it does not already, and if nobody has gone on from there before a replay. */
  async keepLeaf(): Promise<void> {
    if (this.ahead !== null && this.ahead === this.tree.leaf && this.leadsOn(this.ahead)) return;
    if (this.tree.leaf !== this.cursor) await this.append({ kind: "leaf", target: this.cursor });
  }

  /** Takes over the way to an entry of another session, with its labels, and where it came from. A note is a branch of its own. */
  async copyFrom(other: Session, entryId: string, note?: string): Promise<void> {
    other.needPlace(entryId);
    const { now, newId, log, redact } = this.options;
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
    // What somebody has begun to write, and did not wait for, is written.
    await this.tail;
    await this.options.log.close();
  }

  private async write(entry: SessionEntry): Promise<void> {
    const { log, now } = this.options;
    const written = log.append([entry], { at: now(), origin: this.origin });
    const [head] = isPromiseLike(written) ? await written : written;
    if (head !== undefined) this.tree.add(head);
    this.stand(entry);
  }

  private stand(entry: SessionEntry): void {
    if (isAside(entry.kind)) return;
    const follows = this.window !== undefined && this.windowAt === entry.parent;
    this.cursor = entry.id;
    if (!follows || entry.kind === "compaction") return;
    this.windowAt = entry.id;
    if (entry.kind === "message") this.remember(entry);
  }

  private remember({ message, id }: MessageEntry): void {
    this.window?.push(Object.freeze(message));
    this.ids.set(message, id);
  }

  private async isSame(head: EntryHead, entry: SessionEntry): Promise<boolean> {
    const { at: _, ...written } = await this.read(head.id);
    const { at: __, ...meant } = entry;
    return sameValue(written, JSON.parse(JSON.stringify(meant)));
  }

  /** What says something about the conversation is no place in it. */
  private needPlace(id: string): void {
    if (!isAside(this.need(id).kind)) return;
    throw new InvalidValueError({ field: "entry id", value: id, expected: "an entry of the conversation" });
  }

  private need(id: string): EntryHead {
    const head = this.tree.get(id);
    if (head !== undefined) return head;
    const expected = `an entry of session ${this.sessionId}`;
    throw new InvalidValueError({ field: "entry id", value: id, expected });
  }
}

/** As it will be read again: what its giver does with it meanwhile changes nothing. */
function plainCopy(data: JsonValue): JsonValue {
  let text: unknown;
  let cause: unknown;
  try {
    text = JSON.stringify(data);
    if (typeof text === "string") return JSON.parse(text) as JsonValue;
  } catch (error) {
    cause = error;
  }
  throw new InvalidValueError({ field: "data", value: data, expected: "plain JSON", cause });
}
