import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { InvalidValueError, JournalFailedError } from "@ravi/kernel";
import { hasCode } from "@ravi/kernel/loop";
import { SessionCorruptError, sessionFailed, SessionLockedError } from "../errors.ts";
import { type EntryHead, headOf, type SessionEntry } from "./entry.ts";
import { CREATE, discard, readAt, type SessionFile, syncFolder, writeAll } from "./files.ts";
import { entryLine, headerLine, readBody, readFront, seedOf } from "./line-format.ts";
import type { Lock } from "./lock.ts";
import type { SessionLocation } from "./location.ts";
import type { BeginOptions, SessionInfo, SessionLog } from "./store.ts";

/** What `FileSessionStore` has read from an existing file. */
export interface Opened {
  readonly file: SessionFile;
  readonly lock: Lock;
  readonly size: number;
  readonly info: SessionInfo;
  readonly heads: readonly EntryHead[];
}

const READ_AHEAD = 1 << 16;

export class FileLog implements SessionLog {
  readonly id: string;
  readonly heads: readonly EntryHead[];
  info: SessionInfo | null;
  private readonly location: SessionLocation;
  private file: SessionFile | undefined;
  private lock: Lock | undefined;
  private size: number;
  private count: number;
  /** Operations run one after the other; a failed one rejects only for its own caller. */
  private tail: Promise<unknown> = Promise.resolve();
  private failed: JournalFailedError | SessionLockedError | undefined;
  private closed = false;
  private ahead = { place: 0, bytes: Buffer.alloc(0) };

  constructor(id: string, location: SessionLocation, opened: Opened | undefined) {
    this.id = id;
    this.location = location;
    this.info = opened?.info ?? null;
    this.heads = opened?.heads ?? [];
    this.file = opened?.file;
    this.lock = opened?.lock;
    this.size = opened?.size ?? 0;
    this.count = this.heads.length;
  }

  append(entries: readonly SessionEntry[], begin: BeginOptions): Promise<readonly EntryHead[]> {
    return this.queued(async () => {
      if (this.file === undefined) return this.begin(entries, begin);
      const heads: EntryHead[] = [];
      // One write and one sync for each entry: then only the last line can be torn by a crash, with nothing behind it.
      for (const entry of entries) heads.push(await this.write(this.file, entry));
      return heads;
    });
  }

  read(head: EntryHead): Promise<SessionEntry> {
    return this.queued(async () => {
      const line = (await this.bytesAt(head)).subarray(0, -1);
      const front = readFront(seedOf(this.id), line);
      if (front?.id === head.id) return readBody(front, line);
      const problem = `entry ${head.id} is not what was written`;
      throw new SessionCorruptError({ sessionId: this.id, line: 0, position: head.place, problem });
    });
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    // Also after a failure for good: the lock has to be released for the next writer.
    await this.tail;
    try {
      await closeAndRelease(this.file, this.lock);
    } catch (cause) {
      throw sessionFailed(this.id, "closed", cause);
    }
  }

  /**
   * The bytes of a line. Messages are read in file order, so the bytes that follow are read with it and kept. What is written
   * never changes, so they cannot become outdated.
   */
  private async bytesAt({ place, size }: EntryHead): Promise<Buffer> {
    const { ahead } = this;
    const from = place - ahead.place;
    if (from >= 0 && from + size <= ahead.bytes.length) return ahead.bytes.subarray(from, from + size);
    const bytes = Buffer.allocUnsafe(Math.max(size, Math.min(READ_AHEAD, this.size - place)));
    try {
      const got = this.file === undefined ? 0 : await readAt(this.file, place, bytes);
      this.ahead = { place, bytes: bytes.subarray(0, got) };
      return bytes.subarray(0, Math.min(size, got));
    } catch (cause) {
      throw sessionFailed(this.id, "read", cause);
    }
  }

  private async write(file: SessionFile, entry: SessionEntry): Promise<EntryHead> {
    const bytes = Buffer.from(entryLine(this.id, this.count + 1, entry), "utf8");
    await this.checkLock();
    try {
      await writeAll(file, bytes);
      if (this.location.sync) await file.sync();
    } catch (cause) {
      throw await this.rollBack(file, cause);
    }
    const head = headOf(entry, this.size, bytes.length, entry);
    this.size += bytes.length;
    this.count++;
    return head;
  }

  private async checkLock(): Promise<void> {
    let isHeld = this.lock?.isHeld() ?? true;
    if (typeof isHeld !== "boolean")
      isHeld = await isHeld.catch((cause: unknown) => {
        throw sessionFailed(this.id, "written", cause);
      });
    if (isHeld) return;
    const hint = "this one stood still for so long that its lock has expired; open the session again";
    throw (this.failed = new SessionLockedError({ sessionId: this.id, owner: "another process", hint }));
  }

  /**
   * Removes what was written of a line. If even that fails, the log accepts nothing more, because a new line would follow a
   * torn one.
   */
  private async rollBack(file: SessionFile, cause: unknown): Promise<JournalFailedError> {
    try {
      await file.truncate(this.size);
      return sessionFailed(this.id, "written", cause);
    } catch {
      const what = `session ${this.id} could not be written`;
      const hint = "fix the cause and open the session again";
      return (this.failed = new JournalFailedError({ what, final: true, cause, hint }));
    }
  }

  /** The first write. The file gets its name only when all of it is on the disk, so a crash leaves a whole file or none. */
  private async begin(
    entries: readonly SessionEntry[],
    options: BeginOptions,
  ): Promise<readonly EntryHead[]> {
    const { files, path, root, lockFolder, sync } = this.location;
    const info: SessionInfo = { id: this.id, createdAt: options.at, origin: options.origin ?? null };
    const lock = await this.location.claim();
    const draft = join(lockFolder, `new-${randomUUID()}`);
    let file: SessionFile | undefined;
    let isNamed = false;
    try {
      let text = headerLine(info);
      let place = Buffer.byteLength(text);
      const heads = entries.map((entry, at) => {
        const line = entryLine(this.id, at + 1, entry);
        text += line;
        const head = headOf(entry, place, Buffer.byteLength(line), entry);
        place += head.size;
        return head;
      });
      file = await files.open(draft, CREATE, 0o600);
      await writeAll(file, Buffer.from(text, "utf8"));
      if (sync) await file.sync();
      await files.link(draft, path);
      isNamed = true;
      if (sync) await syncFolder(files, root);
      this.file = file;
      this.lock = lock;
      this.info = info;
      this.size = place;
      this.count = entries.length;
      return heads;
    } catch (cause) {
      // The caller is told that it failed, so a second attempt must not find the file.
      if (isNamed) await discard(files, path);
      // The first error is the one to report.
      await closeAndRelease(file, lock).catch(() => undefined);
      const hint = "it was created there in the meantime; open it again";
      if (hasCode(cause, "EEXIST"))
        throw new SessionLockedError({ sessionId: this.id, owner: "another process", hint });
      throw sessionFailed(this.id, "created", cause);
    } finally {
      await discard(files, draft);
    }
  }

  private queued<T>(task: () => Promise<T>): Promise<T> {
    const { closed } = this;
    const run = async (): Promise<T> => {
      if (this.failed !== undefined) throw this.failed;
      if (!closed) return task();
      throw new InvalidValueError({
        field: `session ${this.id}`,
        value: "closed",
        expected: "an open session",
      });
    };
    const result = this.tail.then(run);
    this.tail = result.catch(() => undefined);
    return result;
  }
}

/** Closes the file, and releases the lock even if that fails. */
export async function closeAndRelease(file: SessionFile | undefined, lock: Lock | undefined): Promise<void> {
  try {
    await file?.close();
  } finally {
    await lock?.release();
  }
}
