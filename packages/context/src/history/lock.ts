import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { hasCode, type HistoryLock } from "./files.ts";
import { claimName, isClaim, isMakerGone, makerOf } from "./owner.ts";

/** An append is short. Whoever holds the lock for so long hangs. */
const PATIENCE_MS = 10_000;
const MOST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 100;

/** Claims of this process that it could not take back: the disk said no. They hold nothing. */
const givenUp = new Set<string>();

/**
 * The right to write to a file, for one at a time of all who ask on this machine. Each puts a claim into a folder, whose name
 * says who it is, and then looks: who finds nobody else's has the lock, and who finds one goes, and comes again when it is gone.
 * Of two that come at once the later one at least sees the other. No two claims ever have one name, so what a dead process left
 * can be removed by anybody, and is never another's.
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
    // It is there, and there is nothing in it.
    await file.close().catch(() => undefined);
    return true;
  } catch (error) {
    // Whoever went last took the folder along.
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}

/** A claim of somebody who lives. Those of the dead are cleared away. */
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

/** Never throws: what was written under the lock is written. */
async function giveBack(folder: string, mine: string): Promise<void> {
  try {
    await unlink(join(folder, mine));
  } catch (error) {
    if (!hasCode(error, "ENOENT")) givenUp.add(mine);
  }
  // Others may be in it still.
  await rmdir(folder).catch(() => undefined);
}

function heldBy(claim: string, folder: string): Error {
  const who = claim === "" ? "somebody else" : makerOf(claim);
  return new Error(
    `${who} has been writing to it for ${PATIENCE_MS / 1_000} s (if that process is no more, remove ${folder})`,
  );
}
