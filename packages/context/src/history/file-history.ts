import { Buffer } from "node:buffer";
import { join, resolve } from "node:path";
import {
  type ChatMessage,
  checkBoolean,
  checkFields,
  type HistoryKey,
  type HistoryProvider,
  InvalidValueError,
  isRaviError,
  JournalFailedError,
} from "@ravi/kernel";
import {
  APPEND,
  hasCode,
  type HistoryFile,
  type HistoryFiles,
  makeFolder,
  READ,
  syncFolder,
  writeAll,
} from "./files.ts";
import { fileNameOf } from "./file-name.ts";
import { headerLine, messageLines } from "./line-format.ts";
import { lostMessages } from "./lost-messages.ts";
import { checkUpTo, keyText, messageTexts } from "./message-text.ts";
import { nodeFiles } from "./node-files.ts";
import { Queues } from "./queues.ts";
import { scan, type Scan } from "./scan.ts";

export interface FileHistoryOptions {
  /**
   * Whether an append is flushed to the disk (fsync) before it resolves. If false, a power failure can lose it. Default: true.
   */
  readonly sync?: boolean | undefined;
  /** The file system. Default: this machine's disk. */
  readonly files?: HistoryFiles | undefined;
}

/**
 * Histories in a folder, one append-only file for each key. Several processes on one machine may write to the same key: they take
 * turns.
 */
export interface FileHistory extends HistoryProvider {
  readonly directory: string;
  load(
    key: HistoryKey,
    upTo?: number,
  ): Promise<{ readonly messages: readonly ChatMessage[]; readonly head: number }>;
  append(key: HistoryKey, messages: readonly ChatMessage[]): Promise<void>;
  clear(key: HistoryKey): Promise<void>;
  /** Waits for operations in progress. After it, every call throws. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens histories in a folder: `await FileHistory.open(directory)`. */
export const FileHistory = Object.freeze({
  /** Opens a folder of histories, and creates it if necessary. A file is created at its first append. */
  async open(directory: string, options: FileHistoryOptions = {}): Promise<FileHistory> {
    checkFields("FileHistory options", options, ["sync", "files"]);
    if (typeof directory !== "string" || directory === "") {
      throw new InvalidValueError({ field: "directory", value: directory, expected: "the path of a folder" });
    }
    const sync = checkBoolean("FileHistory options.sync", options.sync ?? true);
    const root = resolve(directory);
    const files = options.files ?? nodeFiles;
    await makeFolder(files, root, sync);
    return new Files(root, files, sync);
  },
});

/** The size up to which a file is known to be valid, and its number of messages. It holds as long as it is the same file of the same size. */
interface Known {
  readonly size: number;
  readonly head: number;
  /** Which file it is: another process may have cleared it and begun a new one, of the same size by chance. */
  readonly file: string;
}

const MAX_KNOWN = 1_000;

/** Shared by all `FileHistory` objects of this process, so that they take turns at the same file. */
const turns = new WeakMap<HistoryFiles, Queues>();

function turnsAt(files: HistoryFiles): Queues {
  let known = turns.get(files);
  if (known === undefined) turns.set(files, (known = new Queues()));
  return known;
}

/** There is no room for a lock; what is cleared makes some. An append that is under way then ends in a file that is no more. */
function isFull(error: unknown): boolean {
  return hasCode(error, "ENOSPC") || hasCode(error, "EDQUOT");
}

class Files implements FileHistory {
  readonly directory: string;
  private readonly files: HistoryFiles;
  private readonly sync: boolean;
  /** The operations of this object, for `close` to wait for. */
  private readonly queues = new Queues();
  private readonly turns: Queues;
  private readonly known = new Map<string, Known>();
  private closed = false;

  constructor(directory: string, files: HistoryFiles, sync: boolean) {
    this.directory = directory;
    this.files = files;
    this.sync = sync;
    this.turns = turnsAt(files);
  }

  async load(
    key: HistoryKey,
    upTo?: number,
  ): Promise<{ readonly messages: readonly ChatMessage[]; readonly head: number }> {
    const name = this.enter(key);
    const { messages, whole } = await this.inTurn(name, "read", () => this.readTwice(key, name));
    const count = checkUpTo(upTo, messages.length);
    if (count > messages.length) {
      throw lostMessages(key, { wanted: count, found: messages.length, position: whole });
    }
    return {
      messages: count === messages.length ? messages : messages.slice(0, count),
      head: messages.length,
    };
  }

  async append(key: HistoryKey, messages: readonly ChatMessage[]): Promise<void> {
    const name = this.enter(key);
    // Serialised immediately: the caller may change its messages while earlier appends are still being written.
    const texts = messageTexts(messages);
    if (texts.length > 0) await this.alone(name, "written", () => this.write(key, name, texts));
  }

  async clear(key: HistoryKey): Promise<void> {
    const name = this.enter(key);
    const clear = async (): Promise<void> => {
      this.known.delete(name);
      try {
        await this.files.unlink(this.pathOf(name));
      } catch (error) {
        if (hasCode(error, "ENOENT")) return;
        throw error;
      }
      if (this.sync) await syncFolder(this.files, this.directory);
    };
    await this.alone(name, "cleared", clear, isFull);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.queues.idle();
    this.known.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private enter(key: HistoryKey): string {
    const name = keyText(key);
    if (!this.closed) return name;
    throw new InvalidValueError({
      field: "history",
      value: "closed",
      expected: `an open one; open ${this.directory} again`,
    });
  }

  /**
   * Runs a task when it is its key's turn. An error of the disk becomes a `JournalFailedError`, which a run does
   * not record as a result.
   */
  private inTurn<T>(name: string, done: string, task: () => Promise<T>): Promise<T> {
    const path = this.pathOf(name);
    const inTurn = this.queues.run(name, () => this.turns.run(path, task));
    return inTurn.catch((cause: unknown) => {
      if (isRaviError(cause)) throw cause;
      throw new JournalFailedError({ what: `the history ${path} could not be ${done}`, final: false, cause });
    });
  }

  /** Like `inTurn`, and no other process writes to the file meanwhile. */
  private alone<T>(
    name: string,
    done: string,
    task: () => Promise<T>,
    isLockSpared: (error: unknown) => boolean = () => false,
  ): Promise<T> {
    return this.inTurn(name, done, async () => {
      const lock = await this.files.lock?.(this.pathOf(name)).catch((error: unknown) => {
        if (!isLockSpared(error)) throw error;
      });
      try {
        return await task();
      } finally {
        await lock?.release();
      }
    });
  }

  private pathOf(name: string): string {
    return join(this.directory, fileNameOf(name));
  }

  /** What was cut off and written anew under our eyes looks damaged, and is not. */
  private async readTwice(key: HistoryKey, name: string): Promise<Scan> {
    try {
      return await this.read(key, name);
    } catch (error) {
      if (!isRaviError(error, "JOURNAL_CORRUPT")) throw error;
      // Where no lock is to be had, as on a disk that is only read, the damage is what there is to tell.
      const lock = await this.files.lock?.(this.pathOf(name)).catch(() => undefined);
      if (lock === undefined) throw error;
      try {
        return await this.read(key, name);
      } finally {
        await lock.release();
      }
    }
  }

  /** Only looks: what seems torn may be another process' append on its way. */
  private async read(key: HistoryKey, name: string): Promise<Scan> {
    let file: HistoryFile;
    try {
      file = await this.files.open(this.pathOf(name), READ);
    } catch (error) {
      if (hasCode(error, "ENOENT")) return { messages: [], whole: 0 };
      throw error;
    }
    try {
      return scan(await file.readFile(), { keyText: name, sessionId: key.sessionId });
    } finally {
      await file.close();
    }
  }

  private async write(key: HistoryKey, name: string, texts: readonly string[]): Promise<void> {
    const file = await this.files.open(this.pathOf(name), APPEND, 0o600);
    try {
      const { size, head, file: which } = await this.endOf(file, key, name);
      const lines = (size === 0 ? headerLine(name) : "") + messageLines(name, head, texts);
      const bytes = Buffer.from(lines, "utf8");
      this.known.delete(name);
      try {
        await writeAll(file, bytes);
        if (this.sync) await file.sync();
        if (this.sync && size === 0) await syncFolder(this.files, this.directory);
      } catch (error) {
        // All or nothing. If even this fails, a torn tail is left, which the next append cuts off.
        await file.truncate(size).catch(() => undefined);
        throw error;
      }
      this.learn(name, { size: size + bytes.length, head: head + texts.length, file: which });
    } finally {
      await file.close();
    }
  }

  /**
   * The size and the number of messages before the next append. Cuts off a torn tail. Reads the file only if its size is not as
   * this process left it.
   */
  private async endOf(file: HistoryFile, key: HistoryKey, name: string): Promise<Known> {
    const { size, ino = 0, birthtimeMs = 0 } = await file.stat();
    const which = `${ino}@${birthtimeMs}`;
    const known = this.known.get(name);
    if (known?.size === size && known.file === which) return known;
    const { messages, whole } = scan(await file.readFile(), { keyText: name, sessionId: key.sessionId });
    if (whole < size) await file.truncate(whole);
    return { size: whole, head: messages.length, file: which };
  }

  private learn(name: string, known: Known): void {
    this.known.set(name, known);
    if (this.known.size <= MAX_KNOWN) return;
    for (const oldest of this.known.keys()) {
      this.known.delete(oldest);
      return;
    }
  }
}
