import { join } from "node:path";
import { sessionFailed, SessionLockedError } from "../errors.ts";
import { fileNameOf } from "./file-name.ts";
import { discard, makeFolder, namesIn, type SessionFiles } from "./files.ts";
import { claim, type Lock, type LockOptions } from "./lock.ts";

export const ENDING = ".jsonl";
const LOCKS = "locks";

/** The paths of one session on the disk. */
export interface Place {
  readonly files: SessionFiles;
  readonly root: string;
  readonly path: string;
  readonly lockFolder: string;
  readonly sync: boolean;
  /** Acquires the right to write. Throws a `SessionLockedError` if somebody else has it. */
  claim(): Promise<Lock>;
}

export interface PlaceOptions extends Pick<LockOptions, "files" | "liveness" | "givenUp"> {
  readonly root: string;
  readonly sync: boolean;
}

export function placeOf(id: string, { files, root, sync, liveness, givenUp }: PlaceOptions): Place {
  const name = fileNameOf(id);
  const lockFolder = join(root, LOCKS, name);
  return {
    files,
    root,
    path: join(root, name + ENDING),
    lockFolder,
    sync,
    async claim() {
      const lock = await makeFolders(files, root, sync)
        .then(() => claim({ files, folder: lockFolder, liveness, givenUp }))
        .catch((cause: unknown) => {
          throw sessionFailed(id, "locked", cause);
        });
      if ("heldBy" in lock) {
        const hint = `close it there first; if that process no longer exists, delete ${lockFolder}`;
        throw new SessionLockedError({ sessionId: id, owner: lock.heldBy, hint });
      }
      await sweep(files, lockFolder);
      return lock;
    },
  };
}

/** The folders are created by the first write. */
async function makeFolders(files: SessionFiles, root: string, sync: boolean): Promise<void> {
  await makeFolder(files, root, sync);
  await makeFolder(files, join(root, LOCKS), false);
}

/** Removes what a crash left of a first write. Safe, since only the holder of the lock creates such files. */
async function sweep(files: SessionFiles, lockFolder: string): Promise<void> {
  // If the folder cannot be read now, the next holder will do it.
  const names = await namesIn(files, lockFolder).catch(() => []);
  for (const name of names) if (name.startsWith("new-")) await discard(files, join(lockFolder, name));
}
