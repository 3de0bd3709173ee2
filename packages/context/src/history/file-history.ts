import {
  type ChatMessage,
  checkBoolean,
  checkFields,
  type HistoryKey,
  type HistoryProvider,
  InvalidValueError,
  isRaviError,
  JournalFailedError,
  type JsonValue,
  textOf,
} from "@ravi/kernel";
import { checkPort, forgetOldest, hasCode } from "@ravi/kernel/loop";
import {
  appendFlags,
  type HistoryFile,
  type HistoryFiles,
  makeFolder,
  readFlags,
  syncFolder,
  writeAll,
} from "./files.ts";
import { fileNameOf } from "./file/file-name.ts";
import { KeptMessages } from "./file/kept-messages.ts";
import { headerLine, messageLines } from "./file/line-format.ts";
import { lostMessages } from "./file/lost-messages.ts";
import { checkUpTo, keyText, messageTexts, viewText } from "./file/message-text.ts";
import { nodeFiles } from "./file/node-files.ts";
import { nodeModule } from "./file/node-module.ts";
import { Queues } from "./file/queues.ts";
import { scan, type Scan } from "./file/scan.ts";

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
  storeView(key: HistoryKey, view: JsonValue): Promise<void>;
  loadView(key: HistoryKey): Promise<JsonValue | undefined>;
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
    const root = nodeModule("node:path").resolve(directory);
    const { files = nodeFiles } = options;
    checkPort("FileHistory options.files", files, ["mkdir", "open", "unlink"]);
    await makeFolder(files, root, sync);
    return new DirectoryHistory(root, files, sync);
  },
});

/** The size up to which a file is known to be valid, and its number of messages. It holds as long as it is the same file of the same size. */
interface FileState {
  readonly size: number;
  readonly head: number;
  /** Identifies the file: another process may have cleared it and created a new one, of the same size by chance. */
  readonly file: string;
}

const MAX_STATES = 1_000;

/** Shared by all `FileHistory` objects of this process, so that they take turns at the same file. */
const queuesByDisk = new WeakMap<HistoryFiles, Queues>();

function fileQueuesOf(files: HistoryFiles): Queues {
  let queues = queuesByDisk.get(files);
  if (queues === undefined) queuesByDisk.set(files, (queues = new Queues()));
  return queues;
}

/** Shared too: each run of a conversation may open the histories anew. */
const keptByDisk = new WeakMap<HistoryFiles, KeptMessages>();

function keptOf(files: HistoryFiles): KeptMessages {
  let kept = keptByDisk.get(files);
  if (kept === undefined) keptByDisk.set(files, (kept = new KeptMessages()));
  return kept;
}

/** Tells a file from a later one of the same name. */
function identityOf({ ino = 0, birthtimeMs = 0 }: Awaited<ReturnType<HistoryFile["stat"]>>): string {
  return `${ino}@${birthtimeMs}`;
}

/** A full disk has no room for a lock, and clearing makes room. An append in progress then writes to a file that was deleted. */
function isDiskFull(error: unknown): boolean {
  return hasCode(error, "ENOSPC") || hasCode(error, "EDQUOT");
}

class DirectoryHistory implements FileHistory {
  readonly directory: string;
  private readonly files: HistoryFiles;
  private readonly sync: boolean;
  /** The operations of this object, for `close` to wait for. */
  private readonly queues = new Queues();
  private readonly fileQueues: Queues;
  private readonly kept: KeptMessages;
  private readonly states = new Map<string, FileState>();
  private closed = false;

  constructor(directory: string, files: HistoryFiles, sync: boolean) {
    this.directory = directory;
    this.files = files;
    this.sync = sync;
    this.fileQueues = fileQueuesOf(files);
    this.kept = keptOf(files);
  }

  async load(
    key: HistoryKey,
    upTo?: number,
  ): Promise<{ readonly messages: readonly ChatMessage[]; readonly head: number }> {
    const name = this.openName(key);
    const { messages, whole } = await this.enqueue(name, "read", () => this.readAgainIfDamaged(key, name));
    const count = checkUpTo(upTo, messages.length);
    if (count > messages.length) {
      throw lostMessages(key, { wanted: count, found: messages.length, position: whole });
    }
    // A copy: the list itself is kept.
    return { messages: messages.slice(0, count), head: messages.length };
  }

  async append(key: HistoryKey, messages: readonly ChatMessage[]): Promise<void> {
    const name = this.openName(key);
    await this.appendTo(key, name, messages);
  }

  async clear(key: HistoryKey): Promise<void> {
    const name = this.openName(key);
    // The view first, so that a crash in between leaves none of what is gone.
    const names = [viewText(name), name];
    const clear = async (): Promise<void> => {
      let removed = 0;
      for (const each of names) if (await this.remove(each)) removed++;
      if (this.sync && removed > 0) await syncFolder(this.files, this.directory);
    };
    await this.enqueue(name, "cleared", async () => {
      for (const each of names) {
        this.states.delete(each);
        this.kept.forget(this.pathOf(each));
      }
      if ((await this.isStored(name)) || (await this.isStored(viewText(name))))
        await this.locked(name, clear, isDiskFull);
    });
  }

  /** In a file of its own, as the newest message of it: the file of a history holds what was said and nothing else. */
  async storeView(key: HistoryKey, view: JsonValue): Promise<void> {
    const name = viewText(this.openName(key));
    await this.appendTo(key, name, [{ role: "system", content: JSON.stringify(view) }]);
  }

  async loadView(key: HistoryKey): Promise<JsonValue | undefined> {
    const name = viewText(this.openName(key));
    const { messages } = await this.enqueue(name, "read", () => this.readAgainIfDamaged(key, name));
    const last = messages.at(-1);
    return last === undefined ? undefined : (JSON.parse(textOf(last)) as JsonValue);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.queues.idle();
    this.states.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async appendTo(key: HistoryKey, name: string, messages: readonly ChatMessage[]): Promise<void> {
    // Serialised immediately: the caller may change its messages while earlier appends are still being written.
    const texts = messageTexts(messages);
    if (texts.length === 0) return;
    await this.enqueue(name, "written", () => this.locked(name, () => this.write(key, name, texts)));
  }

  private async remove(name: string): Promise<boolean> {
    try {
      await this.files.unlink(this.pathOf(name));
      return true;
    } catch (error) {
      if (hasCode(error, "ENOENT")) return false;
      throw error;
    }
  }

  private openName(key: HistoryKey): string {
    const name = keyText(key);
    if (!this.closed) return name;
    throw new InvalidValueError({
      field: "history",
      value: "closed",
      expected: `an open history; open ${this.directory} again with FileHistory.open()`,
    });
  }

  /**
   * Runs a task when it is its key's turn. An error of the disk becomes a `JournalFailedError`, which a run does
   * not record as a result.
   */
  private enqueue<T>(name: string, done: string, task: () => Promise<T>): Promise<T> {
    const path = this.pathOf(name);
    const result = this.queues.run(name, () => this.fileQueues.run(path, task));
    return result.catch((cause: unknown) => {
      if (isRaviError(cause)) throw cause;
      throw new JournalFailedError({ what: `the history ${path} could not be ${done}`, final: false, cause });
    });
  }

  /** Runs a task while no other process writes to the file. */
  private async locked<T>(
    name: string,
    task: () => Promise<T>,
    canSkipLock: (error: unknown) => boolean = () => false,
  ): Promise<T> {
    const lock = await this.files.lock?.(this.pathOf(name)).catch((error: unknown) => {
      if (!canSkipLock(error)) throw error;
    });
    try {
      return await task();
    } finally {
      await lock?.release();
    }
  }

  /** Asked before a lock is taken: most agents that are hired have stored nothing, and a process that is killed leaves its lock there. */
  private async isStored(name: string): Promise<boolean> {
    try {
      const file = await this.files.open(this.pathOf(name), readFlags());
      await file.close();
      return true;
    } catch (error) {
      // What cannot be opened, such as a link or the file of another user, can often be removed.
      return !hasCode(error, "ENOENT");
    }
  }

  private pathOf(name: string): string {
    return nodeModule("node:path").join(this.directory, fileNameOf(name));
  }

  /** If another process truncates and rewrites the file while it is read, it looks damaged. So it is read again, under a lock. */
  private async readAgainIfDamaged(key: HistoryKey, name: string): Promise<Scan> {
    try {
      return await this.read(key, name);
    } catch (error) {
      if (!isRaviError(error, "JOURNAL_CORRUPT")) throw error;
      // If no lock can be taken (on a read-only disk, for example), the damage is reported as it is.
      const lock = await this.files.lock?.(this.pathOf(name)).catch(() => undefined);
      if (lock === undefined) throw error;
      try {
        return await this.read(key, name);
      } finally {
        await lock.release();
      }
    }
  }

  /** Changes nothing: a tail that looks torn may be an append that another process is writing. */
  private async read(key: HistoryKey, name: string): Promise<Scan> {
    let file: HistoryFile;
    try {
      file = await this.files.open(this.pathOf(name), readFlags());
    } catch (error) {
      if (hasCode(error, "ENOENT")) return { messages: [], texts: [], whole: 0 };
      throw error;
    }
    try {
      const path = this.pathOf(name);
      const identity = identityOf(await file.stat());
      const known = this.kept.of(path, identity);
      const found = scan(await file.readFile(), { keyText: name, sessionId: key.sessionId, known });
      const { messages, texts, whole: bytes } = found;
      this.kept.keep(path, { messages, texts, file: identity, bytes });
      return found;
    } finally {
      await file.close();
    }
  }

  private async write(key: HistoryKey, name: string, texts: readonly string[]): Promise<void> {
    const file = await this.files.open(this.pathOf(name), appendFlags(), 0o600);
    try {
      const { size, head, file: identity } = await this.endOf(file, key, name);
      const lines = (size === 0 ? headerLine(name) : "") + messageLines(name, head, texts);
      const bytes = Buffer.from(lines, "utf8");
      this.states.delete(name);
      try {
        await writeAll(file, bytes);
        if (this.sync) await file.sync();
        if (this.sync && size === 0) await syncFolder(this.files, this.directory);
      } catch (error) {
        // All or nothing. If even this fails, a torn tail is left, which the next append cuts off.
        await file.truncate(size).catch(() => undefined);
        throw error;
      }
      this.keepState(name, { size: size + bytes.length, head: head + texts.length, file: identity });
    } finally {
      await file.close();
    }
  }

  /**
   * The size and the number of messages before the next append. Cuts off a torn tail. Reads the file only if its size is not as
   * this process left it.
   */
  private async endOf(file: HistoryFile, key: HistoryKey, name: string): Promise<FileState> {
    const stats = await file.stat();
    const { size } = stats;
    const identity = identityOf(stats);
    const known = this.states.get(name);
    if (known?.size === size && known.file === identity) return known;
    const { messages, whole } = scan(await file.readFile(), { keyText: name, sessionId: key.sessionId });
    if (whole < size) await file.truncate(whole);
    return { size: whole, head: messages.length, file: identity };
  }

  private keepState(name: string, state: FileState): void {
    this.states.set(name, state);
    forgetOldest(this.states, MAX_STATES);
  }
}
