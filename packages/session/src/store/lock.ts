import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { hasCode } from "../has-code.ts";
import {
  APPEND,
  CREATE,
  discard,
  makeFolder,
  namesIn,
  READ,
  readAt,
  type SessionFiles,
  writeAll,
} from "./files.ts";
import type { Liveness } from "./owner.ts";

/** Where nobody is. */
const FREE = "free";
const MAX_OWNER_BYTES = 1_000;

export interface LockOptions {
  readonly files: SessionFiles;
  readonly folder: string;
  readonly liveness: Liveness;
  /** Notes of this process that it could not take back when it was done: the disk said no. They hold nothing. */
  readonly givenUp: Set<string>;
}

export interface Lock {
  release(): Promise<void>;
}

/**
 * A lock that one of several processes gets, also after a crash of its holder. It is a folder of numbered notes, each
 * written once and never changed; the highest says who holds it. A note is taken away only when a higher one stands, so
 * numbers never come back, and whoever was slow to take over finds a higher number than its own.
 */
export async function claim(options: LockOptions): Promise<Lock | { readonly heldBy: string }> {
  const { files, folder, liveness, givenUp } = options;
  await makeFolder(files, folder, false);
  for (;;) {
    const notes = await numbersIn(options);
    const top = notes.at(-1) ?? 0;
    if (top > 0) {
      const note = join(folder, String(top));
      const holder = await read(files, note);
      if (holder === undefined) continue;
      // Whoever was told to remove the folder has made its numbers come back: then the note may be another's.
      const isGivenUp = givenUp.has(note) && holder === liveness.me;
      const isFree = holder === FREE || holder === "" || isGivenUp;
      if (!isFree && !liveness.isGone(holder)) return { heldBy: holder };
    }
    const mine = top + 1;
    if (!(await place(options, mine, liveness.me))) continue;
    const now = await numbersAfter(options, mine);
    if (now.some((number) => number > mine)) {
      await discard(files, join(folder, String(mine)));
      continue;
    }
    for (const old of now) if (old < mine) await discard(files, join(folder, String(old)));
    return { release: () => release(options, mine) };
  }
}

/** The notes now that mine stands. Where they cannot be read nobody is to find it held: whoever asked was told that it is not. */
async function numbersAfter(options: LockOptions, mine: number): Promise<number[]> {
  try {
    return await numbersIn(options);
  } catch (error) {
    await release(options, mine).catch(() => undefined);
    throw error;
  }
}

async function release(options: LockOptions, mine: number): Promise<void> {
  const { files, folder, givenUp } = options;
  const note = join(folder, String(mine));
  try {
    await place(options, mine + 1, FREE);
  } catch (cause) {
    // No room for another note. Nobody holds one that is empty, and to empty one needs no room.
    if (await isEmptied(files, note)) return;
    givenUp.add(note);
    throw cause;
  }
  await discard(files, note);
}

async function isEmptied(files: SessionFiles, path: string): Promise<boolean> {
  try {
    const file = await files.open(path, APPEND);
    try {
      await file.truncate(0);
    } finally {
      await file.close();
    }
    return true;
  } catch {
    // The error that led here says more.
    return false;
  }
}

async function numbersIn({ files, folder }: LockOptions): Promise<number[]> {
  const names = await namesIn(files, folder);
  const numbers = names.filter((name) => /^\d{1,15}$/.test(name)).map(Number);
  return numbers.toSorted((a, b) => a - b);
}

/** Puts a whole note there at once, or finds that somebody else has. */
async function place({ files, folder }: LockOptions, number: number, text: string): Promise<boolean> {
  const draft = join(folder, `draft-${randomUUID()}`);
  const file = await files.open(draft, CREATE, 0o600);
  try {
    try {
      await writeAll(file, Buffer.from(text, "utf8"));
    } finally {
      await file.close();
    }
    await files.link(draft, join(folder, String(number)));
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    await discard(files, draft);
  }
}

async function read(files: SessionFiles, path: string): Promise<string | undefined> {
  try {
    const file = await files.open(path, READ);
    try {
      const bytes = Buffer.alloc(MAX_OWNER_BYTES);
      return bytes.toString("utf8", 0, await readAt(file, 0, bytes));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
