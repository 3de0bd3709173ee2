import { readFile, stat } from "node:fs/promises";

/** Longer files are not prompts. */
const MAX_BYTES = 1_000_000;

/** The text of a file; undefined where there is none. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path);
    // To read a pipe would be to wait for whoever writes to it.
    if (!found.isFile() || found.size > MAX_BYTES) return undefined;
    return (await readFile(path, "utf8")).trim();
  } catch {
    // Not there, or not to be read: then it is not part of the prompt.
    return undefined;
  }
}
