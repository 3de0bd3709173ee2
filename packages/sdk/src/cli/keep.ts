import { existsSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import process from "node:process";
import { hasCode, messageOf } from "@ravi/kernel/loop";
import { Runtime } from "@ravi/runtime";
import { InvalidValueError, isRaviError, JournalFailedError } from "@ravi/sdk";
import { UsageError } from "./errors.ts";
import { findRun } from "./find.ts";
import { isOpen } from "./list.ts";
import { lookingAt, within } from "./open.ts";
import type { Request } from "./perform.ts";
import { durationMs } from "./time.ts";

const FILE = "ravi.db";
/** If this process is killed, others can have the run again after so long. */
const CLAIM_MS = 10_000;

/** Removes one run. */
export async function deleteRun({ words: [given = ""], journal, options }: Request): Promise<string> {
  const { runId, status } = await findRun(journal, given, "end");
  if (isOpen(status) && options.force !== true) {
    const expected = `a run that has ended; it is ${status}, and after ravi delete --force nobody can resume it`;
    throw wrong("run", runId, expected);
  }
  return within(journal, async (opened) => {
    // Claimed, so that nobody resumes it meanwhile.
    if ((await opened.claim(runId, `ravi delete ${process.pid}`, CLAIM_MS)) === null) {
      const { owner = "another process" } = (await new Runtime({ journal: opened }).holder(runId)) ?? {};
      throw wrong("run", runId, `a run that no process has; ${owner} has it, so cancel it first`);
    }
    await opened.delete(runId);
    return `${runId} is deleted`;
  });
}

/** Removes runs that ended long ago. */
export async function pruneRuns({ journal, options }: Request): Promise<string> {
  const time = options["older-than"];
  if (time === undefined) throw new UsageError("ravi prune needs --older-than <time>");
  const olderThanMs = durationMs("--older-than", time);
  const { length } = await within(journal, (opened) => opened.prune({ olderThanMs }));
  return `${length} ${length === 1 ? "run" : "runs"} deleted`;
}

/** Copies the journal, as it is at one moment. */
export async function backup({ words: [to = ""], journal }: Request): Promise<string> {
  // It has all that the agents have seen, so it is made for its owner alone, and not where a link leads.
  const file = resolve(to);
  try {
    await (await open(file, "wx", 0o600)).close();
  } catch (error) {
    const expected = hasCode(error, "EEXIST")
      ? "a file that does not exist yet"
      : `a file that can be written (${messageOf(error)})`;
    throw wrong("file", to, `${expected}; nothing was written`);
  }
  try {
    await copy(journal, file);
  } catch (cause) {
    await rm(file, { force: true });
    if (isRaviError(cause)) throw cause;
    const what = `${join(journal, FILE)} could not be copied to ${to}`;
    throw new JournalFailedError({ what, final: false, cause, hint: "nothing was written" });
  }
  return `${to} is a copy of ${join(journal, FILE)}; conversations, in ${join(journal, "sessions")}, are files of their own`;
}

/** `to` is an empty file. */
async function copy(journal: string, to: string): Promise<void> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(join(journal, FILE), { readOnly: true });
  try {
    database.prepare("PRAGMA schema_version").get();
    // It is a database. Throws if it is one of another program.
    await lookingAt(journal, async () => {});
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}

/** Throws if there is none: with a misspelt folder there would be no runs, or an empty journal would be made, also of an empty file. */
export function checkJournal(journal: string): void {
  const file = join(journal, FILE);
  if (!existsSync(file)) throw wrong("journal", journal, `a folder with a ${FILE}`);
  if (statSync(file).size === 0)
    throw wrong("journal", journal, `a folder with the ${FILE} of a journal; this one is empty`);
}

function wrong(field: string, value: string, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
