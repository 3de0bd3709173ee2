import { join } from "node:path";
import { sessionFailed, SessionLockedError } from "../errors.ts";
import { fileNameOf } from "./file-name.ts";
import { discard, makeFolder, namesIn, type SessionFiles } from "./files.ts";
import { claim, expiresInMs, type Lock, type LockOptions } from "./lock.ts";

export const FILE_EXTENSION = ".jsonl";
const LOCK_FOLDER = "locks";

/** The paths of one session on the disk. */
export interface SessionLocation {
  readonly files: SessionFiles;
  readonly root: string;
  readonly path: string;
  readonly lockFolder: string;
  readonly sync: boolean;
  /** Acquires the right to write. Throws a `SessionLockedError` if somebody else has it. */
  claim(): Promise<Lock>;
}

export interface LocationOptions extends Pick<LockOptions, "files" | "liveness" | "abandoned"> {
  readonly root: string;
  readonly sync: boolean;
}

export function locationOf(
  id: string,
  { files, root, sync, liveness, abandoned }: LocationOptions,
): SessionLocation {
  const name = fileNameOf(id);
  const lockFolder = join(root, LOCK_FOLDER, name);
  return {
    files,
    root,
    path: join(root, name + FILE_EXTENSION),
    lockFolder,
    sync,
    async claim() {
      const options = { files, folder: lockFolder, liveness, abandoned };
      const lock = await makeFolders(files, root, sync)
        .then(() => claim(options))
        .catch((cause: unknown) => {
          throw sessionFailed(id, "locked", cause);
        });
      if ("heldBy" in lock) {
        const hint =
          lock.heldBy === liveness.me
            ? "it was opened in this process; close() of the SessionAgent that has it lets others in"
            : `close it there first; if that process no longer exists, its lock expires within 30 s, or delete ${lockFolder}`;
        throw new SessionLockedError({
          sessionId: id,
          owner: lock.heldBy,
          hint,
          expiresInMs: await expiresInMs(options),
        });
      }
      await sweep(files, lockFolder);
      return lock;
    },
  };
}

/** The folders are created by the first write. */
async function makeFolders(files: SessionFiles, root: string, sync: boolean): Promise<void> {
  await makeFolder(files, root, sync);
  await makeFolder(files, join(root, LOCK_FOLDER), false);
}

/** Removes what a crash left of a first write. Safe, since only the holder of the lock creates such files. */
async function sweep(files: SessionFiles, lockFolder: string): Promise<void> {
  // If the folder cannot be read now, the next holder will do it.
  const names = await namesIn(files, lockFolder).catch(() => []);
  for (const name of names) if (name.startsWith("new-")) await discard(files, join(lockFolder, name));
}
