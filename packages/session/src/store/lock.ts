import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { hasCode } from "@ravi/kernel/loop";
import {
  APPEND,
  CREATE,
  discard,
  makeFolder,
  namesIn,
  READ,
  readAt,
  type SessionFiles,
  withFile,
  writeAll,
} from "./files.ts";
import { EXPIRES_MS, HeldNote, type LockTime, realTime } from "./held-note.ts";
import type { Liveness } from "./owner.ts";

/** The text of a note that nobody holds. */
const FREE = "free";
const MAX_OWNER_BYTES = 1_000;

export interface LockOptions {
  readonly files: SessionFiles;
  readonly folder: string;
  readonly liveness: Liveness;
  /** Notes of this process that it could not release because of a disk error. They hold nothing. */
  readonly abandoned: Set<string>;
  readonly time?: LockTime | undefined;
}

export interface Lock {
  /** False if another process has taken it over, because this one stood still for too long. */
  isHeld(): boolean | Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Acquires a lock between processes that survives a crash of its holder. It is a folder of numbered notes, each written once;
 * the highest one says who holds the lock. A note is removed only if a higher one exists. So numbers are never reused, and a
 * process that was slow to take over finds a higher number than its own. Returns who holds the lock if it is not free.
 */
export async function claim(options: LockOptions): Promise<Lock | { readonly heldBy: string }> {
  const { files, folder, liveness, abandoned } = options;
  await makeFolder(files, folder, false);
  for (;;) {
    const notes = await noteNumbers(options);
    const top = notes.at(-1) ?? 0;
    if (top > 0) {
      const note = join(folder, String(top));
      const holder = await readNote(files, note);
      if (holder === undefined) continue;
      // If somebody has removed the folder, as the error suggests, numbers start again and the note of that name may belong to
      // another process.
      const isAbandoned = abandoned.has(note) && holder === liveness.me;
      const isFree = holder === FREE || holder === "" || isAbandoned;
      if (!isFree && !liveness.isGone(holder) && !(await hasExpired(options, holder, note)))
        return { heldBy: holder };
    }
    const mine = top + 1;
    if (!(await writeNote(options, mine, liveness.me))) continue;
    const now = await noteNumbersAfter(options, mine);
    if (now.some((number) => number > mine)) {
      await discard(files, join(folder, String(mine)));
      continue;
    }
    for (const old of now) if (old < mine) await discard(files, join(folder, String(old)));
    return lockOf(options, mine);
  }
}

function lockOf(options: LockOptions, mine: number): Lock {
  const { files, folder, time = realTime } = options;
  const isTaken = async (): Promise<boolean> => (await noteNumbers(options)).some((number) => number > mine);
  const note = new HeldNote({ files, path: join(folder, String(mine)), isTaken, time });
  return {
    isHeld: () => note.isHeld(),
    async release() {
      await note.stop();
      await release(options, mine);
    },
  };
}

/** Whether nobody can tell of the holder, and its note was not renewed for too long. */
async function hasExpired(options: LockOptions, holder: string, note: string): Promise<boolean> {
  if (options.liveness.canTell?.(holder) ?? true) return false;
  const age = await ageOf(options, note);
  return age !== undefined && age > EXPIRES_MS;
}

/**
 * In how many milliseconds the lock expires unless it is renewed; 0 if it is free by now. Undefined if it does not expire, because it can
 * be seen that its holder lives, or if that is not known.
 */
export async function expiresInMs(options: LockOptions): Promise<number | undefined> {
  const { files, folder, liveness } = options;
  try {
    const note = join(folder, String((await noteNumbers(options)).at(-1)));
    const holder = await readNote(files, note);
    if (holder === undefined || holder === FREE || holder === "") return 0;
    const age = (liveness.canTell?.(holder) ?? true) ? undefined : await ageOf(options, note);
    return age === undefined ? undefined : Math.max(0, EXPIRES_MS - age);
  } catch {
    // Its caller says that it is locked, which is true in any case.
    return undefined;
  }
}

/** How long ago a note was renewed, if the file system tells. Both times are those of the file system. */
async function ageOf({ files, folder }: LockOptions, note: string): Promise<number | undefined> {
  const draft = join(folder, `draft-${randomUUID()}`);
  try {
    const { mtimeMs: renewedAt } = await withFile(files, note, READ, (file) => file.stat());
    const { mtimeMs: now } = await withFile(files, draft, CREATE, (file) => file.stat());
    return renewedAt === undefined || now === undefined ? undefined : now - renewedAt;
  } catch (error) {
    // Somebody else has it by now, and a note with a higher number.
    if (hasCode(error, "ENOENT")) return Infinity;
    throw error;
  } finally {
    await discard(files, draft);
  }
}

/**
 * The notes after `mine` was placed. If they cannot be read, `mine` is released: the caller gets an error and would otherwise
 * hold the lock without knowing it.
 */
async function noteNumbersAfter(options: LockOptions, mine: number): Promise<number[]> {
  try {
    return await noteNumbers(options);
  } catch (error) {
    await release(options, mine).catch(() => undefined);
    throw error;
  }
}

async function release(options: LockOptions, mine: number): Promise<void> {
  const { files, folder, abandoned } = options;
  const note = join(folder, String(mine));
  try {
    await writeNote(options, mine + 1, FREE);
  } catch (cause) {
    // There may be no space for another note. An empty note is held by nobody, and emptying one needs no space.
    if (await tryEmpty(files, note)) return;
    abandoned.add(note);
    throw cause;
  }
  await discard(files, note);
}

async function tryEmpty(files: SessionFiles, path: string): Promise<boolean> {
  try {
    await withFile(files, path, APPEND, (file) => file.truncate(0));
    return true;
  } catch {
    // The error of the caller says more.
    return false;
  }
}

async function noteNumbers({ files, folder }: LockOptions): Promise<number[]> {
  const names = await namesIn(files, folder);
  const numbers = names.filter((name) => /^\d{1,15}$/.test(name)).map(Number);
  return numbers.toSorted((a, b) => a - b);
}

/** Creates a note with its whole content in one step. Returns false if the number is taken. */
async function writeNote({ files, folder }: LockOptions, number: number, text: string): Promise<boolean> {
  const draft = join(folder, `draft-${randomUUID()}`);
  try {
    await withFile(files, draft, CREATE, (file) => writeAll(file, Buffer.from(text, "utf8")));
    await files.link(draft, join(folder, String(number)));
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    await discard(files, draft);
  }
}

async function readNote(files: SessionFiles, path: string): Promise<string | undefined> {
  try {
    const bytes = Buffer.alloc(MAX_OWNER_BYTES);
    const length = await withFile(files, path, READ, (file) => readAt(file, 0, bytes));
    // Its holder has renewed it with line ends.
    return bytes.toString("utf8", 0, length).trimEnd();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}
