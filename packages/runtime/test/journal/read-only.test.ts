import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { RunId } from "@ravi/kernel";
import { expect, onTestFinished, test } from "vitest";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { entry, RUN } from "./helpers/sample.ts";

const INVALID = expect.objectContaining({ code: "INVALID_VALUE" });

async function withOneRun(directory: string): Promise<SqliteJournal> {
  const journal = SqliteJournal.open(directory);
  const { epoch } = (await journal.claim(RUN, "one", 60_000)) ?? expect.unreachable("nobody has it");
  await journal.append(RUN, epoch, [entry("one")]);
  return journal;
}

/** Nobody may write there, and everybody may read. */
function seal(directory: string): void {
  chmodSync(dirname(directory), 0o755);
  for (const name of readdirSync(directory)) chmodSync(join(directory, name), 0o444);
  chmodSync(directory, 0o555);
  onTestFinished(() => chmodSync(directory, 0o755));
}

/** Root may write everywhere, so it acts as somebody else meanwhile. */
function unprivileged<T>(act: () => T): T {
  if (process.geteuid?.() !== 0) return act();
  process.seteuid?.(65_534);
  try {
    return act();
  } finally {
    process.seteuid?.(0);
  }
}

const look = (directory: string): SqliteJournal =>
  unprivileged(() => SqliteJournal.open(directory, { readOnly: true }));

test("T5: a journal that was closed can be looked at where nothing can be written, and no write is lost in it", async () => {
  const directory = join(temporaryDirectory(), "a#journal?of%20mine");
  await (await withOneRun(directory)).close();
  seal(directory);
  expect(() => unprivileged(() => SqliteJournal.open(directory))).toThrow(INVALID);
  const ifNeeded = unprivileged(() => SqliteJournal.open(directory, { readOnly: "ifNeeded" }));
  expect(ifNeeded.list()).toHaveLength(1);
  await ifNeeded.close();
  await using journal = look(directory);
  expect(journal.list()).toMatchObject([{ runId: RUN, entries: 1 }]);
  expect(await journal.load(RUN)).toMatchObject([{ key: "one" }]);
  await expect(journal.claim(RunId("other"), "two", 1_000)).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  expect(readdirSync(directory)).toEqual(["ravi.db"]);
});

test("T5: what a process that has it open writes is seen", async () => {
  const directory = join(temporaryDirectory(), "journal");
  const journal = SqliteJournal.open(directory);
  await using looking = SqliteJournal.open(directory, { readOnly: true });
  expect(looking.list()).toEqual([]);
  const { epoch } = (await journal.claim(RUN, "one", 60_000)) ?? expect.unreachable("nobody has it");
  await journal.append(RUN, epoch, [entry("one")]);
  expect(await looking.load(RUN)).toMatchObject([{ key: "one" }]);
  await journal.close();
});

test("T5: a copy whose write-ahead log cannot be read is refused, not shown without what was last", async () => {
  const root = temporaryDirectory();
  const journal = await withOneRun(join(root, "journal"));
  cpSync(join(root, "journal"), join(root, "copy"), { recursive: true });
  await journal.close();
  rmSync(join(root, "copy", "ravi.db-shm"));
  seal(join(root, "copy"));
  expect(() => look(join(root, "copy"))).toThrow(/with its ravi\.db-wal, if there is one, it needs a folder/);
});

test("T11: what is no journal is not opened to be looked at, and none is made", () => {
  const root = temporaryDirectory();
  mkdirSync(join(root, "empty"));
  writeFileSync(join(root, "empty", "ravi.db"), "");
  mkdirSync(join(root, "other"));
  writeFileSync(join(root, "other", "ravi.db"), "hello".repeat(100));
  for (const name of ["none", "empty", "other"]) expect(() => look(join(root, name))).toThrow(INVALID);
  expect(readdirSync(root)).toEqual(["empty", "other"]);
});

test("T11: one that is opened read-only if needed can be written if it can, and says else what is wrong with it", async () => {
  const root = temporaryDirectory();
  await (await withOneRun(join(root, "journal"))).close();
  await using journal = SqliteJournal.open(join(root, "journal"), { readOnly: "ifNeeded" });
  expect(await journal.claim(RunId("other"), "two", 1_000)).toMatchObject({ epoch: 1 });
  mkdirSync(join(root, "other"));
  writeFileSync(join(root, "other", "ravi.db"), "hello".repeat(100));
  expect(() => SqliteJournal.open(join(root, "other"), { readOnly: "ifNeeded" })).toThrow(/something else/);
  const options = { readOnly: "yes" } as never;
  expect(() => SqliteJournal.open(root, options)).toThrow(/readOnly is "yes"; expected true, false or/);
});
