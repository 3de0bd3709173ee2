import { nodeFiles } from "../parts/platform.ts";

/**
 * Returns a check that throws once the opened file is no longer the one at its path. SQLite would continue to write to a file that
 * was removed or replaced, and everything that was paid for would be recorded where nobody finds it.
 */
export function sameFile(path: string): () => void {
  const opened = numberOf(path);
  return () => {
    const found = numberOf(path);
    if (found !== opened && found !== "unknown")
      throw new Error("it was removed or replaced while it was open");
  };
}

/**
 * The inode number of the file. If the process may not look there any more, nothing is known, and it continues with the file that
 * it opened.
 */
function numberOf(path: string): bigint | "none" | "unknown" {
  try {
    return nodeFiles().statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? "none";
  } catch {
    return "unknown";
  }
}
