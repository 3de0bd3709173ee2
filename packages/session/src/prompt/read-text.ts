import { lstat, readFile, stat } from "node:fs/promises";
import { InvalidValueError } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { hasCode } from "../has-code.ts";

/** Longer files are not prompts. */
const MAX_BYTES = 1_000_000;

/**
 * The text of a file; undefined where there is none. One that is there and cannot be read is an error: an agent without its prompt is
 * another agent.
 */
export async function readText(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw unreadable(path, "a folder");
    // A pipe, say: to read it would be to wait for whoever writes to it.
    if (!found.isFile()) return undefined;
    if (found.size > MAX_BYTES) throw unreadable(path, `${found.size} bytes long`);
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (error instanceof InvalidValueError) throw error;
    if (await isAbsent(path, error)) return undefined;
    throw unreadable(path, messageOf(error), error);
  }
}

/** A link that leads nowhere is there all the same. */
async function isAbsent(path: string, error: unknown): Promise<boolean> {
  if (!hasCode(error, "ENOENT")) return hasCode(error, "ENOTDIR");
  return lstat(path).then(
    () => false,
    (why: unknown) => hasCode(why, "ENOENT"),
  );
}

function unreadable(path: string, value: string, cause?: unknown): InvalidValueError {
  return new InvalidValueError({
    field: path,
    value,
    expected: `a file of text that can be read, of at most ${MAX_BYTES} bytes`,
    cause,
  });
}
