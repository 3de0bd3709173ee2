import { JournalLockedError } from "@ravi/kernel";
import { hasCode } from "@ravi/kernel/loop";
import { nodeModule } from "../../common/node-module.ts";
import { isOwner, localProcesses } from "./owner.ts";

/** A claim's owner writes its name into it at once. A claim without a name after this time was left by a crash. */
const UNNAMED_MS = 10_000;

/** A line is written in a moment. A claim of a process that cannot be seen from here was left by a crash after this time. */
const UNSEEN_MS = 60_000;

/** How often to start over if others release their claims meanwhile. */
const MAX_TRIES = 20;

/** The end of a claim file's name, after the log's name. */
const CLAIM = /^(\d+)\.\d+\.claim$/;

/** The right to write at one position of a file. */
export interface Claim {
  release(): Promise<void>;
}

/**
 * Claims the position at `size` bytes of a file, for one writer at a time, with a file that only one process can create. The
 * claim of a dead process is not removed: two processes could do so at once, and one would remove the other's new claim. Instead
 * the next turn's claim is created, which again only one can do. Throws a `JournalLockedError` if a living process holds the
 * claim.
 */
export async function claimPosition(path: string, size: number): Promise<Claim> {
  const owner = `${localProcesses().me}\n${nodeModule("node:crypto").randomUUID()}`;
  const nameOf = (turn: number): string => `${path}.${size}.${turn}.claim`;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const gone = await claimFirstFreeTurn(path, nameOf, owner);
    if (gone === undefined) continue;
    const before = gone.map((_owner, turn) => nameOf(turn));
    const mine = nameOf(gone.length);
    if (await areUnchanged(before, gone)) return claimOf([...before, mine]);
    // The owner of the turn before is done and has released everything, so others may have started again at a lower turn.
    await remove(mine);
  }
  throw claimedBy(path, nameOf(0), "other processes");
}

/**
 * Removes claims of processes that died between writing their line and releasing their claim. Their position is inside of
 * complete lines, where nobody writes any more, so these claims are not needed.
 */
export async function sweepClaims(path: string, size: number): Promise<void> {
  const { readdir, realpath } = nodeModule("node:fs/promises");
  const { basename, dirname, join } = nodeModule("node:path");
  try {
    const log = await realpath(path);
    const start = `${basename(log)}.`;
    for (const name of await readdir(dirname(log))) {
      if (!name.startsWith(start)) continue;
      const place = CLAIM.exec(name.slice(start.length))?.[1];
      if (place === undefined || Number(place) >= size) continue;
      const claim = join(dirname(log), name);
      const owner = await ownerOf(claim);
      if (owner === "" || (owner !== undefined && localProcesses().isGone(firstLine(owner))))
        await remove(claim);
    }
  } catch {
    // There is no log yet, or the folder cannot be read. Leftover claims do no harm.
  }
}

/**
 * Creates the claim of the first free turn and returns the dead owners of the turns before it. Undefined if a claim was released
 * meanwhile.
 */
async function claimFirstFreeTurn(
  path: string,
  nameOf: (turn: number) => string,
  owner: string,
): Promise<readonly string[] | undefined> {
  const gone: string[] = [];
  for (;;) {
    const name = nameOf(gone.length);
    if (await create(name, owner)) return gone;
    const other = await ownerOf(name);
    if (other === undefined) return undefined;
    if (other !== "" && !localProcesses().isGone(firstLine(other))) throw claimedBy(path, name, other);
    gone.push(other);
  }
}

/**
 * Claims are released from the first turn on, its own last: a process that creates the same turn's claim after that sees that
 * those before it are gone.
 */
function claimOf(names: readonly string[]): Claim {
  return {
    async release() {
      for (const name of names) await remove(name);
    },
  };
}

async function areUnchanged(names: readonly string[], owners: readonly string[]): Promise<boolean> {
  for (const [turn, name] of names.entries()) if ((await ownerOf(name)) !== owners[turn]) return false;
  return true;
}

/** Returns false if the claim exists already. */
async function create(name: string, owner: string): Promise<boolean> {
  const { open } = nodeModule("node:fs/promises");
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(name, "wx", 0o600);
  } catch (error) {
    // Only EEXIST means that the claim exists. After any other error (too many open files, for example) it may exist and be
    // another's.
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
  try {
    try {
      await file.appendFile(owner, "utf8");
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    // The claim was created, but its owner could not be written into it. It is removed, so that nobody waits for a name. The
    // first error is the one to report.
    await remove(name).catch(() => {});
    throw error;
  }
}

/**
 * Undefined if there is no claim; empty if nobody holds it: its name was not written, or was lost in a power failure, or is that of a
 * process elsewhere that has not released it for a long time.
 */
async function ownerOf(name: string): Promise<string | undefined> {
  const { readFile, stat } = nodeModule("node:fs/promises");
  try {
    const owner = await readFile(name, "utf8");
    if (localProcesses().canTell(firstLine(owner))) return owner;
    const isNamed = isOwner(firstLine(owner));
    const isOld = Date.now() - (await stat(name)).mtimeMs > (isNamed ? UNSEEN_MS : UNNAMED_MS);
    if (isOld) return "";
    return isNamed ? owner : "a writer that has just started";
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function remove(name: string): Promise<void> {
  const { unlink } = nodeModule("node:fs/promises");
  try {
    await unlink(name);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

function claimedBy(path: string, name: string, owner: string): Error {
  return new JournalLockedError({
    runId: path,
    what: `the audit log ${path}`,
    owner: `${firstLine(owner)}, which is writing to it (if that process no longer exists, delete ${name})`,
  });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
