import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { hasCode, type HistoryLock } from "./files.ts";
import { claimName, isClaim, isMakerGone, makerOf } from "./owner.ts";

/** An append is short. A lock that is not free after this time is held by a process that hangs. */
const PATIENCE_MS = 10_000;
const MOST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 100;

/** Claims of this process that could not be removed because the disk failed. They hold no lock. */
const givenUp = new Set<string>();

/**
 * Locks a file for one writer at a time on this machine. Each writer creates a claim file in a folder, whose name identifies the
 * process, and then lists the folder. If it finds no other claim it has the lock; otherwise it removes its claim and tries again.
 * Of two that come at the same time, at least the later one sees the other. No two claims have the same name, so the claim of a
 * dead process can safely be removed by anybody.
 */
export async function lockFile(path: string): Promise<HistoryLock> {
  const folder = `${path}.lock`;
  let until = performance.now() + PATIENCE_MS;
  for (let most = MOST_PAUSE_MS; ; most = Math.min(2 * most, LONGEST_PAUSE_MS)) {
    const mine = claimName(randomUUID());
    const other = (await isMade(folder, mine)) ? await firstOther(folder, mine) : "";
    if (other === undefined) return { release: () => giveBack(folder, mine) };
    await giveBack(folder, mine);
    if (other !== "") until = performance.now() + PATIENCE_MS;
    else if (performance.now() > until) throw heldBy(other, folder);
    await untilFree(folder, other, most);
  }
}

/** Only looks, as a claim would keep others out while it is there: of many who wait for their turn nobody would ever get it. */
async function untilFree(folder: string, first: string, mostPause: number): Promise<void> {
  let until = performance.now() + PATIENCE_MS;
  let holder: string | undefined = first;
  do {
    await pause(1 + Math.random() * mostPause);
    const before: string = holder;
    holder = await firstOther(folder, undefined);
    if (holder !== before) until = performance.now() + PATIENCE_MS;
    else if (performance.now() > until) throw heldBy(holder, folder);
  } while (holder !== undefined);
}

async function isMade(folder: string, claim: string): Promise<boolean> {
  try {
    await mkdir(folder, 0o700);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  try {
    const file = await open(join(folder, claim), "wx", 0o600);
    // The file exists now; it has no content.
    await file.close().catch(() => undefined);
    return true;
  } catch (error) {
    // The last writer that left removed the folder.
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}

/** The claim of another living process, if there is one. Claims of dead processes are removed. */
async function firstOther(folder: string, mine: string | undefined): Promise<string | undefined> {
  try {
    for (const name of await readdir(folder)) {
      if (name === mine || !isClaim(name)) continue;
      if (!givenUp.has(name) && !isMakerGone(name)) return name;
      await unlink(join(folder, name)).then(
        () => givenUp.delete(name),
        () => false,
      );
    }
    return undefined;
  } catch (error) {
    if (mine === undefined && hasCode(error, "ENOENT")) return undefined;
    if (mine !== undefined) await giveBack(folder, mine);
    throw error;
  }
}

/** Never throws, because what was written under the lock is written. */
async function giveBack(folder: string, mine: string): Promise<void> {
  try {
    await unlink(join(folder, mine));
  } catch (error) {
    if (!hasCode(error, "ENOENT")) givenUp.add(mine);
  }
  // Fails if other claims are in the folder, which is fine.
  await rmdir(folder).catch(() => undefined);
}

function heldBy(claim: string, folder: string): Error {
  const who = claim === "" ? "somebody else" : makerOf(claim);
  return new Error(
    `${who} has been writing to it for ${PATIENCE_MS / 1_000} s (if that process is no more, remove ${folder})`,
  );
}
