import { constants } from "node:fs";
import { dirname } from "node:path";
import { hasCode } from "../has-code.ts";

/** All that a file store needs of a disk. The default is this machine's. */
export interface SessionFiles {
  /** Gives the path of the first folder that it had to make, if any. */
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  open(path: string, flags: number, mode?: number): Promise<SessionFile>;
  /** Gives an existing file a second name; fails with `EEXIST` where the name is taken. */
  link(existing: string, name: string): Promise<void>;
  unlink(path: string): Promise<void>;
  readdir(path: string): Promise<readonly string[]>;
}

export interface SessionFile {
  stat(): Promise<{ readonly size: number }>;
  read(
    bytes: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  /** At the end of the file (it was opened for appending). It may write less than asked for. */
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ readonly bytesWritten: number }>;
  truncate(size: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

// A link in the folder is not followed: it could lead anywhere.
const { O_APPEND, O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
export const READ = O_RDONLY | (O_NOFOLLOW ?? 0);
export const APPEND = O_RDWR | O_APPEND | (O_NOFOLLOW ?? 0);
export const CREATE = APPEND | O_CREAT | O_EXCL;
const FOLDER = O_RDONLY | (O_DIRECTORY ?? 0);

export async function writeAll(file: SessionFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done);
    if (bytesWritten <= 0) throw new Error(`wrote ${done} of ${bytes.length} bytes, and no more is taken`);
    done += bytesWritten;
  }
}

/** Fewer bytes than asked for only where the file ends. */
export async function readAt(file: SessionFile, position: number, into: Uint8Array): Promise<number> {
  let done = 0;
  while (done < into.length) {
    const { bytesRead } = await file.read(into, done, into.length - done, position + done);
    if (bytesRead <= 0) break;
    done += bytesRead;
  }
  return done;
}

/** A name that was made or removed is so for good only when its folder is on the disk. */
export async function syncFolder(files: SessionFiles, path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await files.open(path, FOLDER);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function makeFolder(files: SessionFiles, path: string, sync: boolean): Promise<void> {
  const first = await files.mkdir(path, { recursive: true, mode: 0o700 });
  if (!sync || typeof first !== "string") return;
  for (let at = path; at.length >= first.length; at = dirname(at)) await syncFolder(files, dirname(at));
}

/** The names in a folder; none where there is no folder. */
export async function namesIn(files: SessionFiles, path: string): Promise<readonly string[]> {
  try {
    return await files.readdir(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

/** Removes what only takes up room. Where that fails it stays there, and nothing depends on it. */
export async function discard(files: SessionFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch {
    // It is gone already, or in nobody's way.
  }
}

/** Removes a name that may be gone already. */
export async function remove(files: SessionFiles, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}
