import { constants } from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "@ravi/kernel/loop";

/** The file operations that `FileSessionStore` needs. Default: the disk of this machine. */
export interface SessionFiles {
  /** Returns the path of the first folder that it had to create, if any. */
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  open(path: string, flags: number, mode?: number): Promise<SessionFile>;
  /** Gives an existing file a second name. Fails with `EEXIST` if the name is taken. */
  link(existing: string, name: string): Promise<void>;
  unlink(path: string): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
}

export interface SessionFile {
  /** `mtimeMs`: when it was last written. Without it, the lock of a process on another machine never expires. */
  stat(): Promise<{ readonly size: number; readonly mtimeMs?: number | undefined }>;
  read(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  /** Writes at the end of the file, which was opened for appending. It may write less than asked for. */
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ readonly bytesWritten: number }>;
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

// `O_NOFOLLOW`: a symbolic link in the folder could lead anywhere.
const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
export const READ = O_RDONLY | (O_NOFOLLOW ?? 0);
export const APPEND = O_RDWR | O_APPEND | (O_NOFOLLOW ?? 0);
export const CREATE = APPEND | O_CREAT | O_EXCL;
const FOLDER = O_RDONLY | (O_DIRECTORY ?? 0);

/** Opens a file for as long as `use` takes. */
export async function withFile<T>(
  files: SessionFiles,
  path: string,
  flags: number,
  use: (file: SessionFile) => Promise<T>,
): Promise<T> {
  const file = await files.open(path, flags, 0o600);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Throws if the file accepts no more bytes. */
export async function writeAll(file: SessionFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done);
    if (bytesWritten <= 0) throw new Error(`only ${done} of ${bytes.length} bytes could be written`);
    done += bytesWritten;
  }
}

/** Returns the number of bytes read, which is less than asked for only at the end of the file. */
export async function readAt(file: SessionFile, position: number, into: Uint8Array): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead <= 0) break;
    done += bytesRead;
  }
  return done;
}

/** A file that was created or removed survives a power failure only once its folder is synced. */
export async function syncFolder(files: SessionFiles, path: string): Promise<void> {
  if (process.platform === "win32") return;
  await withFile(files, path, FOLDER, (folder) => folder.sync());
}

export async function makeFolder(files: SessionFiles, path: string, sync: boolean): Promise<void> {
  const first = await files.mkdir(path, { recursive: true, mode: 0o700 });
  if (!sync || typeof first !== "string") return;
  for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(files, dirname(at));
}

/** The names in a folder; empty if there is no such folder. */
export async function namesIn(files: SessionFiles, path: string): Promise<readonly string[]> {
  try {
    return await files.readdir(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Removes a file that nothing depends on. If that fails, it is left there. */
export async function discard(files: SessionFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch {
    // It is gone already, or does no harm.
  }
}

/** Removes a file that may be gone already. */
export async function remove(files: SessionFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
