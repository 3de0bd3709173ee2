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
  /** Whether an append is on the disk, and not only with the operating system, when it resolves: true. */
  readonly sync?: boolean | undefined;
  /** Where the files are: on this machine's disk. */
  readonly files?: HistoryFiles | undefined;
}

/** Histories in a folder, one append-only file for each key. Several processes of one machine may write to a key: they take turns. */
export interface FileHistory extends HistoryProvider {
  readonly directory: string;
  load(
    key: HistoryKey,
    upTo?: number,
  ): Promise<{ readonly messages: readonly ChatMessage[]; readonly head: number }>;
  append(key: HistoryKey, messages: readonly ChatMessage[]): Promise<void>;
  clear(key: HistoryKey): Promise<void>;
  /** Waits for what was begun; after it, everything is refused. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const FileHistory = Object.freeze({
  /** Makes the folder if it is not there. Files are made when first written to. */
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

/** How far a file is known to be whole, as long as it is the same one and its size has not changed since. */
interface Known {
  readonly size: number;
  readonly head: number;
  /** Which file it is: another process may have cleared it and begun a new one, of the same size by chance. */
  readonly file: string;
}

const MAX_KNOWN = 1_000;

/** Whoever opens a folder in this process, and however often: at a file of one disk all of them take turns. */
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
  /** What was begun here. */
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
    // Written down now: the caller may change its messages while earlier appends are still being written.
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

  /** What the disk says no to comes out as an error of ours. It is nothing that a run should have on record. */
  private inTurn<T>(name: string, done: string, task: () => Promise<T>): Promise<T> {
    const path = this.pathOf(name);
    const inTurn = this.queues.run(name, () => this.turns.run(path, task));
    return inTurn.catch((cause: unknown) => {
      if (isRaviError(cause)) throw cause;
      throw new JournalFailedError({ what: `the history ${path} could not be ${done}`, final: false, cause });
    });
  }

  /** As `inTurn`, with no other process at work on the file, unless it can do without a lock. */
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
        // All or nothing. If even this fails, what is left is a torn tail, and the next append cuts it off.
        await file.truncate(size).catch(() => undefined);
        throw error;
      }
      this.learn(name, { size: size + bytes.length, head: head + texts.length, file: which });
    } finally {
      await file.close();
    }
  }

  /** Where the next append goes. A torn tail is cut off first; the file is read only if it is not as we left it. */
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
