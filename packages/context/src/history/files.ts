import { InvalidValueError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { nodeModule } from "./file/node-module.ts";

/** What a file history needs of a file system: a part of `node:fs/promises`, and a lock. The default is this machine's disk. */
export interface HistoryFiles {
  /** Resolves with the path of the first folder that was created, if any. */
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  open(path: string, flags: number, mode?: number): Promise<HistoryFile>;
  unlink(path: string): Promise<void>;
  /**
   * Locks a file for writing or removal, against all other processes. Without this method, only the operations of this process
   * take turns.
   */
  lock?(path: string): Promise<HistoryLock>;
}

/** A lock on a file. */
export interface HistoryLock {
  /** Must not throw. */
  release(): Promise<void>;
}

/** An open file of a `HistoryFiles`; a part of Node's `FileHandle`. */
export interface HistoryFile {
  /** `ino` and `birthtimeMs` tell a file from a later one of the same name, where a disk has them. */
  stat(): Promise<{
    readonly size: number;
    readonly ino?: number | undefined;
    readonly birthtimeMs?: number | undefined;
  }>;
  /** From the beginning to the end. */
  readFile(): Promise<Uint8Array>;
  /** Appends to the file. May write fewer bytes than asked for. */
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ readonly bytesWritten: number }>;
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

// Symbolic links in the folder are not followed: they could lead anywhere.

export function readFlags(): number {
  const { O_NOFOLLOW, O_RDONLY } = nodeModule("node:fs").constants;
  return O_RDONLY | (O_NOFOLLOW ?? 0);
}

export function appendFlags(): number {
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = nodeModule("node:fs").constants;
  return O_RDWR | O_APPEND | O_CREAT | (O_NOFOLLOW ?? 0);
}

/** Writes all bytes, since one `write` may write fewer than asked for. */
export async function writeAll(file: HistoryFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done);
    if (bytesWritten <= 0) throw new Error(`only ${done} of ${bytes.length} bytes could be written`);
    done += bytesWritten;
  }
}

/** A created or removed file is durable only once the folder that contains it has been synced. */
export async function syncFolder(files: HistoryFiles, path: string): Promise<void> {
  if (process.platform === "win32") return;
  const { O_DIRECTORY, O_RDONLY } = nodeModule("node:fs").constants;
  const folder = await files.open(path, O_RDONLY | (O_DIRECTORY ?? 0));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Creates the folder and, with `sync`, makes it durable. Throws an `InvalidValueError` if that fails. */
export async function makeFolder(files: HistoryFiles, path: string, sync: boolean): Promise<void> {
  try {
    const first = await files.mkdir(path, { recursive: true, mode: 0o700 });
    if (!sync || typeof first !== "string") return;
    const { dirname } = nodeModule("node:path");
    for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(files, dirname(at));
  } catch (cause) {
    const expected = `the path of a folder that can be created or opened (${messageOf(cause)})`;
    throw new InvalidValueError({ field: "directory", value: path, expected, cause });
  }
}
