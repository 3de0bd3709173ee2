import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { InvalidValueError } from "@ravi/kernel";
import { hasCode, messageOf } from "@ravi/kernel/loop";

/** A longer file is taken for a mistake. */
const MAX_BYTES = 1_000_000;
const TEXT_FILE = `a readable text file of at most ${MAX_BYTES} bytes`;

/**
 * The text of a file; undefined if there is none. A file that exists and cannot be read is an error, because an agent without
 * its prompt would behave differently.
 */
export async function readText(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw unreadable(path, "a folder", TEXT_FILE);
    // Such as a pipe: reading it would wait for a writer.
    if (!found.isFile()) return undefined;
    if (found.size > MAX_BYTES) throw unreadable(path, `${found.size} bytes long`, TEXT_FILE);
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (error instanceof InvalidValueError) throw error;
    if (await isAbsent(path, error)) return undefined;
    throw unreadable(path, messageOf(error), TEXT_FILE, error);
  }
}

/** The names in a folder, sorted; none if there is no such folder. One that exists and cannot be read is an error here too. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if (await isAbsent(folder, error)) return [];
    throw unreadable(folder, messageOf(error), "a folder that can be read", error);
  }
}

/** Whether nothing is there at all. A broken symbolic link is something, and has to be reported. */
async function isAbsent(path: string, error: unknown): Promise<boolean> {
  if (!hasCode(error, "ENOENT")) return hasCode(error, "ENOTDIR");
  return lstat(path).then(
    () => false,
    (why: unknown) => hasCode(why, "ENOENT"),
  );
}

function unreadable(path: string, value: string, expected: string, cause?: unknown): InvalidValueError {
  return new InvalidValueError({ field: path, value, expected, cause });
}
