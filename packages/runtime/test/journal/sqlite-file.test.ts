import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { RunId } from "@ravi/kernel";
import { expect, onTestFinished, test, vi } from "vitest";
import { processOwner } from "../../src/journal/parts/owner.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { openDatabase } from "../../src/journal/sqlite/open-database.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { start } from "./helpers/process.ts";
import { entry, RUN, written } from "./helpers/sample.ts";

const INVALID = expect.objectContaining({ code: "INVALID_VALUE" });

function mode(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

test("T12: the directory is made for its owner only, and so are all files in it", async () => {
  const directory = join(temporaryDirectory(), "made", "here");
  const journal = SqliteJournal.open(directory);
  await journal.claim(RUN, "one", 1_000);
  expect(readdirSync(directory).toSorted()).toEqual(["ravi.db", "ravi.db-shm", "ravi.db-wal"]);
  expect(mode(directory)).toBe("700");
  expect(readdirSync(directory).map((name) => mode(join(directory, name)))).toEqual(["600", "600", "600"]);
  await journal.close();
  expect(readdirSync(directory)).toEqual(["ravi.db"]);
});

test("T11: a journal is opened, not made: `new` says so", () => {
  const made = (): unknown => Reflect.construct(SqliteJournal, [temporaryDirectory()]);
  expect(made).toThrow(INVALID);
  expect(made).toThrow(/SqliteJournal\.open\(directory\)/);
});

test("T11: a misspelt option is refused by name, and nothing is made", () => {
  const directory = join(temporaryDirectory(), "not", "made");
  const misspelt: object = { busyTimeout: 1 };
  expect(() => SqliteJournal.open(directory, misspelt)).toThrow(/options\.busyTimeout /);
  expect(existsSync(directory)).toBe(false);
});

test.runIf(process.platform === "linux")(
  "T11: a place where no folder can be created is an error, and nobody waits there",
  () => {
    for (const directory of ["/proc/ravi", "/proc/ravi/journal"]) {
      const open = (): unknown => SqliteJournal.open(directory);
      expect(open).toThrow(expect.objectContaining({ code: "INVALID_VALUE", field: "directory" }));
      expect(open).toThrow(/in which ravi\.db can be created and written \(ENOENT/);
    }
  },
);

test("T5: a journal that has lost a table is refused with what is wrong", async () => {
  const directory = temporaryDirectory();
  await SqliteJournal.open(directory).close();
  const db = new DatabaseSync(join(directory, "ravi.db"));
  const [table] = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
  db.exec(`DROP TABLE ${String(table?.["name"])}`);
  db.close();
  const open = (): unknown => SqliteJournal.open(directory);
  expect(open).toThrow(INVALID);
  expect(open).toThrow(/intact tables .*no such table/);
});

test("T5: a journal without one of its tables or columns is refused, and nothing is added to it or lost", async () => {
  const parts = temporaryDirectory();
  await SqliteJournal.open(parts).close();
  const whole = new DatabaseSync(join(parts, "ravi.db"));
  const tables = whole.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const columns = whole
    .prepare("SELECT name FROM pragma_table_info('runs') WHERE pk = 0 AND name <> 'id'")
    .all();
  whole.close();
  expect(tables.length).toBeGreaterThan(6);
  expect(columns.length).toBeGreaterThan(9);
  const missing = [
    ...tables.map(({ name }) => `DROP TABLE ${String(name)}`),
    ...columns.map(({ name }) => `ALTER TABLE runs DROP COLUMN ${String(name)}`),
  ];
  for (const sql of missing) {
    const directory = temporaryDirectory();
    await written(directory, 2);
    const file = join(directory, "ravi.db");
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
    const before = readFileSync(file);
    const message = expect.stringMatching(/intact tables .*(no such|has 13 columns)/);
    const refused = expect.objectContaining({ code: "INVALID_VALUE", message });
    expect(() => SqliteJournal.open(directory)).toThrow(refused);
    expect([sql, readFileSync(file).equals(before)]).toEqual([sql, true]);
  }
});

test("T12: hostile run ids open nothing beside the one file", async () => {
  const root = temporaryDirectory();
  const directory = join(root, "journal");
  const journal = SqliteJournal.open(directory);
  for (const id of ["../escaped", "/tmp/ravi-escaped", "..\\escaped", "con", "ravi.db-wal", "a/b/c"]) {
    await journal.claim(RunId(id), "one", 1_000);
  }
  await journal.close();
  expect([readdirSync(root), readdirSync(directory)]).toEqual([["journal"], ["ravi.db"]]);
});

test("T5: a newer format is refused by its number, and not a byte of the file is changed", async () => {
  const directory = temporaryDirectory();
  await written(directory, 2);
  const file = join(directory, "ravi.db");
  const db = new DatabaseSync(file);
  db.exec("PRAGMA user_version = 99");
  db.close();
  const before = readFileSync(file);
  const { mtimeMs } = statSync(file);
  expect(() => SqliteJournal.open(directory)).toThrow(
    /format .* is 99; expected format 1; another version of @ravi\/runtime wrote/,
  );
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(statSync(file).mtimeMs).toBe(mtimeMs);
  expect(readdirSync(directory)).toEqual(["ravi.db"]);
});

test("T5: what is not a journal is refused and left as it is", () => {
  const directory = temporaryDirectory();
  const file = join(directory, "ravi.db");
  // SQLite takes a file of one byte for an empty one.
  for (const content of ["x", "hello", "SQLite format 3\0 but then nothing", "x".repeat(5_000)]) {
    writeFileSync(file, content);
    expect(() => SqliteJournal.open(directory)).toThrow(INVALID);
    expect(readFileSync(file, "utf8")).toBe(content);
  }
  for (const sql of ["CREATE TABLE t (x)", "CREATE TABLE t (x); PRAGMA application_id = 7"]) {
    const other = temporaryDirectory();
    const db = new DatabaseSync(join(other, "ravi.db"));
    db.exec(sql);
    db.close();
    const before = readFileSync(join(other, "ravi.db"));
    expect(() => SqliteJournal.open(other)).toThrow(/another program/);
    expect(readFileSync(join(other, "ravi.db")).equals(before)).toBe(true);
  }
});

test("T12: a link to a file is followed, also if that is not there yet; it is for its owner only", async () => {
  const directory = temporaryDirectory();
  const file = join(temporaryDirectory(), "kept elsewhere.db");
  symlinkSync(file, join(directory, "ravi.db"));
  for (const owner of ["one", "two"]) {
    await using journal = SqliteJournal.open(directory);
    expect(await journal.claim(RunId(owner), owner, 1_000)).not.toBe(null);
  }
  expect(mode(file)).toBe("600");
});

test("a directory that cannot be used is an error that names it", () => {
  const root = temporaryDirectory();
  writeFileSync(join(root, "file"), "");
  mkdirSync(join(root, "dir", "ravi.db"), { recursive: true });
  expect(() => SqliteJournal.open(join(root, "file"))).toThrow(
    /directory .*file.*can be created and written/,
  );
  expect(() => SqliteJournal.open(join(root, "file", "below"))).toThrow(INVALID);
  expect(() => SqliteJournal.open(join(root, "dir"))).toThrow(INVALID);
  expect(() => SqliteJournal.open("")).toThrow(INVALID);
  expect(() => SqliteJournal.open("a\0b")).toThrow(INVALID);
  // Root may write everywhere, so that this one bites for other users only.
  mkdirSync(join(root, "closed"));
  chmodSync(join(root, "closed"), 0o500);
  if (process.getuid?.() !== 0) expect(() => SqliteJournal.open(join(root, "closed"))).toThrow(INVALID);
});

test("T5: on a full disk the append is refused, so is every later one, and what was acknowledged stays", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
  limitPages(journal, 24);
  let acknowledged = 0;
  const failure = await (async (): Promise<unknown> => {
    try {
      for (; acknowledged < 1_000; acknowledged++) {
        await journal.append(RUN, epoch, [entry(`k#${acknowledged}`, { body: { text: "x".repeat(1_000) } })]);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  })();
  expect(acknowledged).toBeGreaterThan(10);
  expect(acknowledged).toBeLessThan(1_000);
  expect(failure).toMatchObject({ code: "JOURNAL_FAILED", message: expect.stringContaining("full") });
  // Also when there is room again: whoever did not hear the first refusal must hear the next.
  limitPages(journal, 1_000_000);
  await expect(journal.append(RUN, epoch, [entry("later")])).rejects.toBe(failure);
  await expect(journal.claim(RUN, "one", 1_000)).rejects.toBe(failure);
  await expect(journal.post(RUN, { id: "a", kind: "signal", name: "n", value: 1, at: 1 })).rejects.toBe(
    failure,
  );
  expect(await journal.load(RUN)).toHaveLength(acknowledged);
  await journal.close();
  const again = SqliteJournal.open(directory);
  expect(await again.load(RUN)).toHaveLength(acknowledged);
  await again.append(RUN, epoch, [entry("goes on")]);
  expect((await again.load(RUN)).at(-1)).toMatchObject({ seq: acknowledged + 1, key: "goes on" });
  await again.close();
});

test("T5: a claim that a full disk did not let go is free for whoever opens the journal again, and for nobody before", async () => {
  const directory = temporaryDirectory();
  const [RELEASED, KEPT] = [RUN, RunId("run-2")];
  const me = processOwner("first");
  const journal = SqliteJournal.open(directory);
  const epoch = (await journal.claim(RELEASED, me, 60_000))?.epoch ?? 0;
  const kept = (await journal.claim(KEPT, me, 60_000))?.epoch ?? 0;
  limitPages(journal, 24);
  const large = entry("large", { body: { text: "x".repeat(5_000_000) } });
  await expect(journal.append(RELEASED, epoch, [large])).rejects.toThrow(/full/);

  const again = SqliteJournal.open(directory);
  // Whoever held it may still be about to end.
  expect(await again.claim(RELEASED, processOwner("second"), 60_000)).toBeNull();
  await expect(journal.release(RELEASED, epoch)).rejects.toThrow(/full/);
  // Whoever had it before lets nothing go.
  await expect(journal.release(KEPT, kept - 1)).rejects.toThrow(/full/);
  expect(await again.claim(RELEASED, processOwner("second"), 60_000)).toEqual({ epoch: epoch + 1 });
  expect(await again.claim(KEPT, processOwner("second"), 60_000)).toBeNull();
  // Taken once, it is held like any other.
  expect(await again.claim(RELEASED, processOwner("third"), 60_000)).toBeNull();
  await Promise.all([journal.close(), again.close()]);
});

test.each(["a new journal", "one that is there"])(
  "T5: a disk that has no room to open %s says so, and that it may be tried again: nobody has made a mistake",
  async (which) => {
    const directory = temporaryDirectory();
    if (which !== "a new journal") await SqliteJournal.open(directory).close();
    // Files of eight blocks at most, which is less than the tables need, or the index of the write-ahead log.
    const cramped = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh"];
    const { code, stderr } = await start("writer.ts", [directory, RUN, "one", "1"], cramped).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /the journal \/.*ravi\.db could not be opened: .*disk.*; it needs a local disk with room/,
    );
    expect(stderr).toContain("code: 'JOURNAL_FAILED'");
    expect(stderr).toContain("retryable: true");
    // With room again it is made, whatever was left of the first try.
    expect(await start("writer.ts", [directory, RUN, "one", "1"]).ended).toMatchObject({
      code: 0,
      stderr: "",
    });
  },
);

test.each(["ENOSPC", "EDQUOT"])("T5: a disk without room for the file itself (%s) says so too", (code) => {
  vi.spyOn(process.getBuiltinModule("node:fs"), "openSync").mockImplementation(() => {
    throw Object.assign(new Error(`${code}: no room, open`), { code });
  });
  onTestFinished(() => void vi.restoreAllMocks());
  expect(() => SqliteJournal.open(temporaryDirectory())).toThrow(
    expect.objectContaining({
      code: "JOURNAL_FAILED",
      retryable: true,
      message: expect.stringMatching(/ravi\.db could not be opened: E\w+: no room, open; it needs/),
    }),
  );
});

test.each([false, true])(
  "T5: a file that another process keeps locked is not taken for a wrong one: to open it may be tried again (the clock stands still: %s)",
  async (isStopped) => {
    const directory = temporaryDirectory();
    if (isStopped) vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    // As a process does that was stopped (SIGSTOP) while it made the journal.
    const holder = new DatabaseSync(join(directory, "ravi.db"));
    holder.exec("BEGIN IMMEDIATE");
    expect(() => openDatabase(directory, 20)).toThrow(
      expect.objectContaining({
        code: "JOURNAL_FAILED",
        retryable: true,
        message: expect.stringMatching(
          /ravi\.db was locked by another process for 20 ms: .*; nothing was changed/,
        ),
      }),
    );
    holder.exec("ROLLBACK");
    holder.close();
    const db = openDatabase(directory, 20);
    // From then on a wait inside of SQLite, in which the whole process stands still, is short.
    expect(db.prepare("PRAGMA busy_timeout").get()).toEqual({ timeout: 10 });
    db.close();
  },
);

test.each(["PRAGMA user_version", "PRAGMA application_id", "SELECT 1 FROM sqlite_schema"])(
  "T5: a journal that another process makes while this one looks at it (%s) is not taken for a foreign file",
  (statement) => {
    const directory = temporaryDirectory();
    const { prepare } = DatabaseSync.prototype;
    const spy = vi.spyOn(DatabaseSync.prototype, "prepare");
    onTestFinished(() => spy.mockRestore());
    let others = 0;
    spy.mockImplementation(function (this: DatabaseSync, sql: string) {
      if (sql === statement && others++ === 0) {
        try {
          openDatabase(directory, 20).close();
        } catch (error) {
          // It has to wait until this one has looked.
          expect(error).toMatchObject({ code: "JOURNAL_FAILED", retryable: true });
        }
      }
      return prepare.call(this, sql);
    });
    openDatabase(directory, 20).close();
    expect(others).toBeGreaterThan(0);
  },
);

test("T5: a journal opens, and says which runs it has, while another process keeps the file locked", async () => {
  const directory = temporaryDirectory();
  await using first = SqliteJournal.open(directory);
  await first.claim(RUN, "one", 60_000);
  const holder = new DatabaseSync(join(directory, "ravi.db"));
  onTestFinished(() => holder.close());
  holder.exec("BEGIN EXCLUSIVE");
  // Opening is synchronous: a server that waited here for the lock would answer nobody.
  openDatabase(directory, 0).close();
  await using second = SqliteJournal.open(directory, { busyTimeoutMs: 20 });
  expect(second.list().map(({ runId }) => runId)).toEqual([RUN]);
  await expect(second.claim(RunId("run-2"), "two", 60_000)).rejects.toMatchObject({
    code: "JOURNAL_FAILED",
    retryable: true,
  });
  holder.exec("ROLLBACK");
  expect(await second.claim(RunId("run-2"), "two", 60_000)).not.toBeNull();
});

test("T5: a write waits for another process although a test runner has replaced the timers", async () => {
  const directory = temporaryDirectory();
  await using journal = SqliteJournal.open(directory);
  const holder = new DatabaseSync(join(directory, "ravi.db"));
  holder.exec("BEGIN IMMEDIATE");
  const nextTurn = setImmediate;
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const claimed = journal.claim(RUN, "one", 60_000);
  await new Promise<void>((resolve) => void nextTurn(resolve));
  expect(vi.getTimerCount()).toBe(0);
  holder.exec("ROLLBACK");
  holder.close();
  expect(await claimed).toMatchObject({ epoch: 1 });
});

test("T5: a process that may open no more files opens no journal; it never takes one for damaged", async () => {
  const starved = start("starved.ts", [temporaryDirectory()], ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]);
  expect(await starved.ended).toEqual({ code: 0, signal: null, stderr: "" });
  expect(starved.lines).toHaveLength(12);
  expect([...new Set(starved.lines)]).toEqual(["open: INVALID_VALUE", "works"]);
});

test("T5: a commit that fails takes its whole group with it, and acknowledges none of it", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
  limitPages(journal, 24);
  const other = RunId("run-2");
  const results = await Promise.allSettled([
    journal.append(RUN, epoch, [entry("small")]),
    journal.claim(other, "one", 1_000),
    journal.append(RUN, epoch, [entry("large", { body: { text: "x".repeat(5_000_000) } })]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await journal.close();
  const again = SqliteJournal.open(directory);
  expect(await again.load(RUN)).toEqual([]);
  expect(again.list().map(({ runId }) => runId)).toEqual([RUN]);
  await again.close();
});

test("T5: a journal that fails names its file: the operator has to know which disk is full, and whose lock it is", async () => {
  const directory = temporaryDirectory();
  const path = join(directory, "ravi.db");
  await using locked = SqliteJournal.open(directory, { busyTimeoutMs: 0 });
  const holder = new DatabaseSync(path);
  holder.exec("BEGIN IMMEDIATE");
  await expect(locked.claim(RUN, "one", 60_000)).rejects.toThrow(
    `the journal ${path} was locked by another process for `,
  );
  holder.exec("ROLLBACK");
  holder.close();
  await using full = SqliteJournal.open(directory);
  const epoch = (await full.claim(RUN, "one", 60_000))?.epoch ?? 0;
  limitPages(full, 24);
  await expect(
    full.append(RUN, epoch, [entry("large", { body: { text: "x".repeat(5_000_000) } })]),
  ).rejects.toThrow(`the journal ${path} could not be written: database or disk is full; `);
});

test("closing waits for what was begun; afterwards everything says that it is closed", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
  const appended = journal.append(RUN, epoch, [entry("a")]);
  const closed = journal.close();
  await expect(journal.append(RUN, epoch, [entry("b")])).rejects.toThrow(/closed/);
  await Promise.all([appended, closed, journal.close()]);
  const calls: readonly (() => unknown)[] = [
    () => journal.claim(RUN, "one", 1),
    () => journal.release(RUN, epoch),
    () => journal.load(RUN),
    () => journal.append(RUN, epoch, [entry("c")]),
    () => journal.post(RUN, { id: "a", kind: "signal", name: "n", value: 1, at: 1 }),
    () => journal.items(RUN, 0),
    () => journal.list(),
    () => journal.delete(RUN),
    () => journal.prune({ olderThanMs: 0 }),
    () => journal.blobs.put(new Uint8Array(1)),
    () => journal.blobs.get("sha256-0"),
  ];
  for (const call of calls)
    await expect((async () => call())()).rejects.toThrow(/is "closed"; expected an open journal/);
  const again = SqliteJournal.open(directory);
  expect((await again.load(RUN)).map(({ key }) => key)).toEqual(["a"]);
  await again.close();
});

test(
  "the write-ahead log does not grow with what is written, and a process that closed ends by itself",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const writer = start("writer.ts", [directory, RUN, "one", "400", "20000"]);
    let largest = 0;
    for (let n = 40; n <= 400; n += 40) {
      await writer.heard(n);
      largest = Math.max(
        largest,
        statSync(join(directory, "ravi.db-wal"), { throwIfNoEntry: false })?.size ?? 0,
      );
    }
    expect(await writer.ended).toEqual({ code: 0, signal: null, stderr: "" });
    expect(largest).toBeLessThan(statSync(join(directory, "ravi.db")).size);
    expect(readdirSync(directory)).toEqual(["ravi.db"]);
  },
);

/** Stands for a disk with so many pages: SQLite then says that it is full, as it does for a real one. */
function limitPages(journal: SqliteJournal, pages: number): void {
  const db = Reflect.get(journal, "db") as DatabaseSync;
  db.exec(`PRAGMA max_page_count = ${pages}`);
}

test.each(["removed", "replaced"])(
  "T5: a file that was %s takes no run and no answer any more",
  async (how) => {
    const directory = join(temporaryDirectory(), "journal");
    const journal = SqliteJournal.open(directory);
    await journal.claim(RUN, "one", 1_000);
    rmSync(directory, { recursive: true });
    if (how === "replaced") {
      const other = join(temporaryDirectory(), "other");
      await SqliteJournal.open(other).close();
      renameSync(other, directory);
    }
    const gone = {
      code: "JOURNAL_FAILED",
      message: expect.stringMatching(/ravi\.db could not be written: it was removed or replaced/),
    };
    await expect(journal.claim(RUN, "one", 1_000)).rejects.toMatchObject(gone);
    const item = { id: "1", at: 0, kind: "signal", name: "signature", value: "Ada" } as const;
    await expect(journal.post(RUN, item)).rejects.toMatchObject(gone);
    expect(journal.isFailed).toBe(true);
    await journal.close();
  },
);

test.runIf(process.platform === "linux")(
  "T5: a journal that is opened once more takes no lock off it: another process would remove the log that it writes to",
  async () => {
    const directory = temporaryDirectory();
    await using journal = SqliteJournal.open(directory);
    await journal.claim(RUN, "one", 60_000);
    const { ino } = statSync(join(directory, "ravi.db"));
    const isLocked = (): boolean =>
      readFileSync("/proc/locks", "utf8")
        .split("\n")
        .some((lock) => lock.includes(` ${process.pid} `) && lock.includes(`:${ino} `));
    expect(isLocked()).toBe(true);
    for (const readOnly of [false, true, "ifNeeded"] as const) {
      await SqliteJournal.open(directory, { readOnly }).close();
      expect(isLocked()).toBe(true);
    }
  },
);
