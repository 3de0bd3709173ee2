import { nodeFiles } from "../../platform.ts";

/**
 * Throws once the file that was opened is no longer the one of its name. SQLite writes on into a file that was removed or replaced,
 * and all that was paid for would be on record where nobody finds it again.
 */
export function sameFile(path: string): () => void {
  const opened = numberOf(path);
  return () => {
    const found = numberOf(path);
    if (found !== opened && found !== "unknown")
      throw new Error(`${path} was removed or replaced while it was open`);
  };
}

/** Of the file as the disk counts it. Who may not look there any more, and goes on with what it opened, knows nothing of it. */
function numberOf(path: string): bigint | "none" | "unknown" {
  try {
    return nodeFiles().statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? "none";
  } catch {
    return "unknown";
  }
}
