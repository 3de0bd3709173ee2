import { join } from "node:path";
import { JournalFailedError } from "@ravi/kernel";
import { SessionLockedError } from "../errors.ts";
import { fileNameOf } from "./file-name.ts";
import { makeFolder, namesIn, remove, type SessionFiles } from "./files.ts";
import { claim, type Lock } from "./lock.ts";
import type { Liveness } from "./owner.ts";

export const ENDING = ".jsonl";
const LOCKS = "locks";

/** Where one session is on the disk. */
export interface Place {
  readonly files: SessionFiles;
  readonly root: string;
  readonly path: string;
  readonly lockFolder: string;
  readonly sync: boolean;
  /** The right to write, or a `SessionLockedError`. */
  claim(): Promise<Lock>;
}

export interface PlaceOptions {
  readonly files: SessionFiles;
  readonly root: string;
  readonly sync: boolean;
  readonly liveness: Liveness;
}

export function placeOf(id: string, { files, root, sync, liveness }: PlaceOptions): Place {
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
        .then(() => claim({ files, folder: lockFolder, liveness }))
        .catch((cause: unknown) => {
          throw new JournalFailedError({ what: `session ${id} could not be locked`, final: false, cause });
        });
      if ("heldBy" in lock) {
        const hint = `close it there first; if that process is no more, remove ${lockFolder}`;
        throw new SessionLockedError({ sessionId: id, owner: lock.heldBy, hint });
      }
      // What a crash left of a first write; only the holder of the lock makes such files.
      for (const draft of await namesIn(files, lockFolder)) {
        if (draft.startsWith("new-")) await remove(files, join(lockFolder, draft));
      }
      return lock;
    },
  };
}

/** They are made by the first write. */
async function makeFolders(files: SessionFiles, root: string, sync: boolean): Promise<void> {
  await makeFolder(files, root, sync);
  await makeFolder(files, join(root, LOCKS), false);
}
