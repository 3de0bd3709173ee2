import { randomUUID } from "node:crypto";
import { JournalLockedError } from "@ravi/kernel";
import { codeOf } from "../error-code.ts";
import { type Processes, processesHere } from "./owner.ts";

/** Whoever makes a claim writes its name into it at once. One without a name for so long was left by a crash. */
const NAMELESS_MS = 10_000;

/** How often a claim that came to nothing, since others gave theirs back meanwhile, is begun anew. */
const MOST_TRIES = 20;

/** What follows the name of the log in that of a claim. */
const CLAIM = /^(\d+)\.\d+\.claim$/;

/** The right to write at one place of a file. */
export interface Claim {
  release(): Promise<void>;
}

/**
 * Claims the place in a file at so many bytes, for one writer in the world: a file that only one can make. The claim of a
 * process that died is not removed, which two could do at once, one of them to the claim of the other; it is followed by a
 * claim of the next turn, which again only one can make. Throws where a living process has the claim.
 */
export async function claimPlace(path: string, size: number): Promise<Claim> {
  const processes = await processesHere();
  const owner = `${processes.me}\n${randomUUID()}`;
  const nameOf = (turn: number): string => `${path}.${size}.${turn}.claim`;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const gone = await goneBefore(path, nameOf, owner, processes);
    if (gone === undefined) continue;
    const before = gone.map((_owner, turn) => nameOf(turn));
    const mine = nameOf(gone.length);
    if (await areStill(before, gone)) return claimOf([...before, mine]);
    // Somebody had the turn before, is done and has given all back: others may have begun anew below this one.
    await remove(mine);
  }
  throw claimedBy(path, nameOf(0), "others");
}

/**
 * Removes what processes left that died after their line was written and before their claim was given back. Such a place lies
 * inside of whole lines, where nobody writes any more: no claim to it, of whatever turn, is needed.
 */
export async function sweepClaims(path: string, size: number): Promise<void> {
  const [{ readdir, realpath }, { basename, dirname, join }, processes] = await Promise.all([
    import("node:fs/promises"),
    import("node:path"),
    processesHere(),
  ]);
  try {
    const log = await realpath(path);
    const start = `${basename(log)}.`;
    for (const name of await readdir(dirname(log))) {
      if (!name.startsWith(start)) continue;
      const place = CLAIM.exec(name.slice(start.length))?.[1];
      if (place === undefined || Number(place) >= size) continue;
      const claim = join(dirname(log), name);
      const owner = await ownerOf(claim);
      if (owner === "" || (owner !== undefined && (await processes.isGone(firstLine(owner)))))
        await remove(claim);
    }
  } catch {
    // No log yet, or a folder that may not be read: what is left there is in nobody's way.
  }
}

/** Makes the claim of the first free turn and gives the dead owners before it; undefined where one was given back meanwhile. */
async function goneBefore(
  path: string,
  nameOf: (turn: number) => string,
  owner: string,
  processes: Processes,
): Promise<readonly string[] | undefined> {
  const gone: string[] = [];
  for (;;) {
    const name = nameOf(gone.length);
    if (await make(name, owner)) return gone;
    const other = await ownerOf(name);
    if (other === undefined) return undefined;
    if (other !== "" && !(await processes.isGone(firstLine(other)))) throw claimedBy(path, name, other);
    gone.push(other);
  }
}

/** Given back from the first turn on, its own last: whoever makes its turn's claim after that sees that those before it are gone. */
function claimOf(names: readonly string[]): Claim {
  return {
    async release() {
      for (const name of names) await remove(name);
    },
  };
}

async function areStill(names: readonly string[], owners: readonly string[]): Promise<boolean> {
  for (const [turn, name] of names.entries()) if ((await ownerOf(name)) !== owners[turn]) return false;
  return true;
}

/** False where there is one. */
async function make(name: string, owner: string): Promise<boolean> {
  const { open } = await import("node:fs/promises");
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(name, "wx", 0o600);
  } catch (error) {
    // Where it could not be opened for want of files, say, it may be there, and another's.
    if (codeOf(error) === "EEXIST") return false;
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
    // Made here, and there was no room for a name in it: nobody is to wait for one. The first error is the one to be told.
    await remove(name).catch(() => {});
    throw error;
  }
}

/** Undefined where there is none; empty where nobody's name came to stand in it. */
async function ownerOf(name: string): Promise<string | undefined> {
  const { readFile, stat } = await import("node:fs/promises");
  try {
    const owner = await readFile(name, "utf8");
    if (owner !== "") return owner;
    return Date.now() - (await stat(name)).mtimeMs > NAMELESS_MS ? "" : "a writer that has just begun";
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function remove(name: string): Promise<void> {
  const { unlink } = await import("node:fs/promises");
  try {
    await unlink(name);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function claimedBy(path: string, name: string, owner: string): Error {
  return new JournalLockedError({
    runId: path,
    owner: `${firstLine(owner)}, which writes to it now (if it is no more, remove ${name})`,
  });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
