import { hasCode } from "./has-code.ts";

/** What it needs of `node:fs`. */
interface Folders {
  mkdirSync(path: string, options: { readonly mode: number }): unknown;
  statSync(path: string, options: { readonly throwIfNoEntry: false }): { isDirectory(): boolean } | undefined;
}

/** What it needs of `node:path`. */
interface Paths {
  dirname(path: string): string;
}

/**
 * Creates a folder, which only its owner may read, and the missing ones above it. Returns the first that it has created; undefined if it
 * exists. As Node's `mkdir` with `recursive`, which never returns where no folder can be created, as in /proc.
 */
export function makeFolders(path: string, folders: Folders, paths: Paths): string | undefined {
  const found = (at: string) => folders.statSync(at, { throwIfNoEntry: false });
  try {
    folders.mkdirSync(path, { mode: 0o700 });
    return path;
  } catch (error) {
    const above = paths.dirname(path);
    if (hasCode(error, "ENOENT") && above !== path && found(above) === undefined) {
      const first = makeFolders(above, folders, paths);
      const own = makeFolders(path, folders, paths);
      return first ?? own;
    }
    if (found(path)?.isDirectory() !== true) throw error;
    return undefined;
  }
}
