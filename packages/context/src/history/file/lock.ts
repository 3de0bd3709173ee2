import { hasCode } from "@ravi/kernel/loop";
import { nodeModule } from "./node-module.ts";
import type { HistoryLock } from "../files.ts";
import { canTell, claimName, isClaim, isOwnerGone, ownerOf } from "./owner.ts";

/** An append is short. A lock that is not free after this time is held by a process that hangs. */
const TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 100;
/** How often a claim is renewed, so that a process that cannot see its owner sees that it lives. */
const RENEW_MS = 2_000;

// Taken when this file is loaded, because the fake timers of a test runner may replace them later.
const [setRealTimer, setRealInterval, clearRealInterval] = [setTimeout, setInterval, clearInterval];
const realNow = performance.now.bind(performance);

/** Claims of this process that could not be removed because the disk failed. They hold no lock. */
const abandonedClaims = new Set<string>();

/**
 * Locks a file for one writer at a time on this machine. Each writer creates a claim file in a folder, whose name identifies the
 * process, and then lists the folder. If it finds no other claim it has the lock; otherwise it removes its claim and tries again.
 * Of two that come at the same time, at least the later one sees the other. No two claims have the same name, so the claim of a
 * dead process can safely be removed by anybody.
 */
export async function lockFile(path: string): Promise<HistoryLock> {
  const folder = `${path}.lock`;
  let giveUpAt = realNow() + TIMEOUT_MS;
  for (let maxPause = FIRST_PAUSE_MS; ; maxPause = Math.min(2 * maxPause, MAX_PAUSE_MS)) {
    const mine = claimName(nodeModule("node:crypto").randomUUID());
    const other = (await createClaim(folder, mine)) ? await findOtherClaim(folder, mine) : "";
    if (other === undefined) return heldClaim(folder, mine);
    await removeClaim(folder, mine);
    if (other !== "") giveUpAt = realNow() + TIMEOUT_MS;
    else if (realNow() > giveUpAt) throw lockTimeout(other, folder);
    await waitUntilFree(folder, other, maxPause);
  }
}

function heldClaim(folder: string, mine: string): HistoryLock {
  const renewing = setRealInterval(() => void renew(`${folder}/${mine}`), RENEW_MS);
  renewing.unref?.();
  return {
    release() {
      clearRealInterval(renewing);
      return removeClaim(folder, mine);
    },
  };
}

/** Makes the claim longer. Never throws, and never creates one that is gone. */
async function renew(claim: string): Promise<void> {
  const { O_APPEND, O_WRONLY } = nodeModule("node:fs").constants;
  try {
    const file = await disk().open(claim, O_WRONLY | O_APPEND);
    try {
      await file.write("\n");
    } finally {
      await file.close();
    }
  } catch {
    // The disk failed, which the append will notice, or the claim is gone.
  }
}

/**
 * Waits until there is no claim of another process, or only one that is not renewed, of a process that cannot be seen from here. It makes no
 * claim meanwhile: if many waiting processes did, they would keep each other out for ever.
 */
async function waitUntilFree(folder: string, first: string, maxPause: number): Promise<void> {
  let giveUpAt = realNow() + TIMEOUT_MS;
  let holder: string | undefined = first;
  let size = await sizeOf(folder, holder);
  do {
    await pause(1 + Math.random() * maxPause);
    const before: string = holder;
    holder = await findOtherClaim(folder, undefined);
    if (holder !== before) {
      giveUpAt = realNow() + TIMEOUT_MS;
      size = await sizeOf(folder, holder);
    } else if (realNow() > giveUpAt) {
      if (canTell(holder) || (await sizeOf(folder, holder)) !== size) throw lockTimeout(holder, folder);
      await removeClaim(folder, holder);
      return;
    }
  } while (holder !== undefined);
}

/** The size of a claim, which grows while its owner lives. */
async function sizeOf(folder: string, claim: string | undefined): Promise<number | undefined> {
  try {
    return (await disk().stat(`${folder}/${claim}`)).size;
  } catch {
    return undefined;
  }
}

async function createClaim(folder: string, claim: string): Promise<boolean> {
  try {
    await disk().mkdir(folder, 0o700);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  try {
    const file = await disk().open(`${folder}/${claim}`, "wx", 0o600);
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
async function findOtherClaim(folder: string, mine: string | undefined): Promise<string | undefined> {
  try {
    for (const name of await disk().readdir(folder)) {
      if (name === mine || !isClaim(name)) continue;
      if (!abandonedClaims.has(name) && !isOwnerGone(name)) return name;
      await disk()
        .unlink(`${folder}/${name}`)
        .then(
          () => abandonedClaims.delete(name),
          () => false,
        );
    }
    return undefined;
  } catch (error) {
    if (mine === undefined && hasCode(error, "ENOENT")) return undefined;
    if (mine !== undefined) await removeClaim(folder, mine);
    throw error;
  }
}

/** Never throws, because what was written under the lock is written. */
async function removeClaim(folder: string, mine: string): Promise<void> {
  try {
    await disk().unlink(`${folder}/${mine}`);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) abandonedClaims.add(mine);
  }
  // Fails if other claims are in the folder, which is fine.
  await disk()
    .rmdir(folder)
    .catch(() => undefined);
}

function disk() {
  return nodeModule("node:fs/promises");
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setRealTimer(resolve, milliseconds));
}

function lockTimeout(claim: string, folder: string): Error {
  const who = claim === "" ? "another process" : ownerOf(claim);
  return new Error(
    `${who} has held its lock for ${TIMEOUT_MS / 1_000} s (if that process no longer exists, delete ${folder})`,
  );
}
