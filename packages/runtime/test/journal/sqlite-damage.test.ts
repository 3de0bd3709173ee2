import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ExecId, RunId, type RunSummary } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { entry, RUN, written } from "./helpers/sample.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;

/** Ten entries in ten rows, of which something is changed behind the journal's back. */
async function damagedBy(sql: string): Promise<SqliteJournal> {
  const directory = temporaryDirectory();
  await written(directory, 10);
  const db = new DatabaseSync(join(directory, "ravi.db"));
  db.exec(sql);
  db.close();
  return SqliteJournal.open(directory);
}

describe("T5: damage to a row is named with its run and its number, and nothing is skipped", () => {
  const where = "WHERE first = 4";
  const cases: readonly (readonly [what: string, sql: string, position: number])[] = [
    ["a letter of its text", `UPDATE log SET data = replace(data, 'body of k#4', 'Body of k#4') ${where}`, 4],
    ["its text as a blob", `UPDATE log SET data = cast(data AS BLOB) ${where}`, 4],
    ["its text emptied", `UPDATE log SET data = '' ${where}`, 4],
    ["its checksum", `UPDATE log SET crc = crc + 1 ${where}`, 4],
    ["its number", `UPDATE log SET first = 5 ${where}`, 4],
    ["a number beyond what JavaScript holds", `UPDATE log SET first = 9007199254740993 ${where}`, 4],
    ["how many it holds", `UPDATE log SET count = 2 ${where}`, 4],
    ["its predecessor", `UPDATE log SET prev = 1 ${where}`, 4],
    ["a circle", `UPDATE log SET prev = id ${where}`, 4],
    ["its run", `UPDATE log SET run = run + 1 ${where}`, 4],
    ["gone", `DELETE FROM log ${where}`, 4],
    ["the first gone", `DELETE FROM log WHERE first = 1`, 1],
    ["the last gone", `DELETE FROM log WHERE first = 10`, 10],
    [
      "a copy of another in its place",
      `UPDATE log SET data = (SELECT data FROM log WHERE first = 5), crc = (SELECT crc FROM log WHERE first = 5) ${where}`,
      4,
    ],
    ["the tip on an older row", "UPDATE tips SET last = 8", 8],
    ["the tip with fewer entries", "UPDATE tips SET entries = 9", 9],
    ["the tip with more entries", "UPDATE tips SET entries = 11", 10],
    ["the tip with none", "UPDATE tips SET entries = 0", 0],
    ["the tip without a row", "UPDATE tips SET last = 0", 10],
    ["the tip before the first row", "UPDATE tips SET last = -12", 10],
    ["the tip with fewer than none", "UPDATE tips SET entries = -11", 0],
    ["the tip gone", "DELETE FROM tips", 0],
    ["the tip of another run", "UPDATE tips SET run = 7", 0],
  ];
  test.each(cases)("%s", async (_what, sql, position) => {
    const journal = await damagedBy(sql);
    await expect(journal.load(RUN)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", runId: RUN, position });
    // Nor is anything written behind it.
    const claim = await journal.claim(RUN, "one", 60_000);
    await expect(journal.append(RUN, claim?.epoch ?? 0, [entry("next")])).rejects.toMatchObject({
      code: "JOURNAL_CORRUPT",
    });
    await journal.delete(RUN);
    expect(await journal.load(RUN)).toEqual([]);
    await journal.close();
  });
});

test("T5: two rows with their contents swapped are found, the later one first", async () => {
  const journal = await damagedBy(`
    CREATE TEMP TABLE kept AS SELECT * FROM log;
    UPDATE log SET data = (SELECT data FROM kept WHERE first = 6), crc = (SELECT crc FROM kept WHERE first = 6) WHERE first = 3;
    UPDATE log SET data = (SELECT data FROM kept WHERE first = 3), crc = (SELECT crc FROM kept WHERE first = 3) WHERE first = 6;
  `);
  await expect(journal.load(RUN)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", position: 6 });
  await journal.close();
});

test("T5: a doubled row belongs to no chain and changes nothing", async () => {
  const journal = await damagedBy(
    "INSERT INTO log SELECT NULL, run, first, count, prev, crc, data FROM log WHERE first = 4",
  );
  expect((await journal.load(RUN)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  await journal.close();
});

test("T5: a run is not harmed by damage to another one", async () => {
  const directory = temporaryDirectory();
  const other = RunId("run-2");
  await written(directory, 3);
  await written(directory, 3, other);
  const db = new DatabaseSync(join(directory, "ravi.db"));
  db.exec("UPDATE log SET data = '[]' WHERE run = 1");
  db.close();
  const journal = SqliteJournal.open(directory);
  await expect(journal.load(RUN)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", runId: RUN });
  expect(await journal.load(other)).toHaveLength(3);
  await journal.close();
});

describe("T5: what is damaged of one run does not hide the others in the list", () => {
  const other = RunId("run-2");
  const waits = [{ kind: "signal", name: "go", agentId: "lead", execId: "e", since: 1 }];
  const body = { waits, keys: ["wait#1"], over: [], heard: 0 };

  async function listedAfter(sql: string): Promise<readonly RunSummary[]> {
    const directory = temporaryDirectory();
    const journal = SqliteJournal.open(directory);
    for (const run of [RUN, other]) {
      const claim = await journal.claim(run, "writer", 60_000);
      const note = entry("run:waits", { exec: ExecId(run), phase: "note", body });
      await journal.append(run, claim?.epoch ?? 0, [note]);
    }
    const db = new DatabaseSync(join(directory, "ravi.db"));
    db.exec(sql);
    db.close();
    const listed = journal.list();
    await journal.close();
    return listed;
  }

  const cases: readonly (readonly [what: string, wait: string])[] = [
    ["a torn text", `'{"kind":"sig'`],
    ["no text", "x'00ff'"],
    ["a number", "'7'"],
    ["nothing", "'null'"],
    ["a list", "'[]'"],
    ["a wait of another kind", "replace(wait, 'signal', 'signet')"],
    ["a wait without its name", "replace(wait, 'name', 'nane')"],
    ["a wait with a text as its time", `replace(wait, '"since":1', '"since":"1"')`],
  ];

  test.each(cases)("%s in the table of waits: the entries have them too", async (_what, wait) => {
    const listed = await listedAfter(`UPDATE waits SET wait = ${wait} WHERE run = 1`);
    expect(listed.map(({ runId, waitingFor }) => [runId, waitingFor])).toEqual([
      [RUN, waits],
      [other, waits],
    ]);
  });

  test("if the entries are damaged too, the run is listed without its waits", async () => {
    const listed = await listedAfter(
      "UPDATE waits SET wait = '{' WHERE run = 1; UPDATE log SET crc = 0 WHERE run = 1",
    );
    expect(listed.map(({ runId, waitingFor }) => [runId, waitingFor])).toEqual([
      [RUN, undefined],
      [other, waits],
    ]);
  });

  test("a run whose tip was lost is listed, so that it can be deleted", async () => {
    const listed = await listedAfter("DELETE FROM tips WHERE run = 1");
    expect(listed.map(({ runId, entries }) => [runId, entries])).toEqual([
      [RUN, 0],
      [other, 1],
    ]);
  });

  test("a number that JavaScript cannot represent", async () => {
    const listed = await listedAfter("UPDATE tips SET updated = 9007199254740993 WHERE run = 1");
    expect(listed.map(({ runId, updatedAt }) => [runId, updatedAt])).toEqual([
      [RUN, 2 ** 53],
      [other, 1],
    ]);
  });
});

describe("T5: a number that JavaScript cannot represent, after damage to one run, does not stop the journal", () => {
  const other = RunId("run-2");
  const ended = entry("run:status", { exec: ExecId(other), phase: "note", body: { status: "completed" } });
  const huge = "9007199254740993";

  async function damagedJournal(sql: string): Promise<SqliteJournal> {
    const directory = temporaryDirectory();
    await written(directory, 2);
    const journal = SqliteJournal.open(directory);
    const claim = await journal.claim(other, "writer", 60_000);
    await journal.append(other, claim?.epoch ?? 0, [ended]);
    await journal.release(other, claim?.epoch ?? 0);
    await journal.post(RUN, { id: "a", kind: "signal", name: "go", value: 1, at: 1 });
    const db = new DatabaseSync(join(directory, "ravi.db"));
    db.exec(sql);
    db.close();
    return journal;
  }

  describe.each([
    ["runs", "epoch"],
    ["runs", "expires"],
    ["tips", "fence"],
    ["tips", "entries"],
    ["tips", "last"],
  ])("in %s.%s", (table, column) => {
    const sql = `UPDATE ${table} SET ${column} = ${huge} WHERE ${table === "runs" ? "no" : "run"} = 1`;

    test("the run is damaged, and can be deleted; new runs are not affected by what it had", async () => {
      await using journal = await damagedJournal(sql);
      const corrupt = { code: "JOURNAL_CORRUPT", runId: RUN };
      await expect(journal.load(RUN)).rejects.toMatchObject(corrupt);
      await expect(journal.claim(RUN, "one", 60_000)).rejects.toMatchObject(corrupt);
      await expect(journal.append(RUN, 1, [entry("next")])).rejects.toMatchObject(corrupt);
      await journal.delete(RUN);
      expect(await journal.load(RUN)).toEqual([]);
      const { epoch = 0 } = (await journal.claim(RUN, "one", 60_000)) ?? {};
      expect(epoch).toBeGreaterThan(1);
      // Who wrote it before must not write into the new one.
      await expect(journal.append(RUN, 1, [entry("late")])).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
      await journal.append(RUN, epoch, [entry("first")]);
      expect(await journal.load(other)).toHaveLength(1);
    });

    test("other runs are pruned", async () => {
      await using journal = await damagedJournal(sql);
      expect(await journal.prune({ olderThanMs: 0 })).toEqual([other]);
      expect(journal.list().map(({ runId }) => runId)).toEqual([RUN]);
    });
  });

  test.each(["runs SET started", "tips SET updated"])("in %s: other runs are pruned", async (what) => {
    await using journal = await damagedJournal(`UPDATE ${what} = ${huge} WHERE rowid = 1`);
    expect(await journal.prune({ olderThanMs: 0 })).toEqual([other]);
  });

  test("in tips.fence while the run is written: its appends are refused, those of the same moment are not", async () => {
    const directory = temporaryDirectory();
    await using journal = SqliteJournal.open(directory);
    const [one, two] = [await journal.claim(RUN, "a", 60_000), await journal.claim(other, "a", 60_000)];
    const append = (run: RunId, key: string): Promise<void> =>
      journal.append(run, (run === RUN ? one : two)?.epoch ?? 0, [entry(key, { exec: ExecId(run) })]);
    await Promise.all([append(RUN, "k#1"), append(other, "k#1")]);
    const db = new DatabaseSync(join(directory, "ravi.db"));
    db.exec(`UPDATE tips SET fence = ${huge} WHERE run = 1`);
    db.close();
    const [refused, accepted] = await Promise.allSettled([append(RUN, "k#2"), append(other, "k#2")]);
    expect(refused).toMatchObject({ reason: { code: "JOURNAL_CORRUPT", runId: RUN } });
    expect(accepted.status).toBe("fulfilled");
  });

  test("in items.seq: a post to that run is refused, others are not", async () => {
    await using journal = await damagedJournal(`UPDATE items SET seq = ${huge}`);
    const item = { id: "b", kind: "signal", name: "go", value: 1, at: 1 } as const;
    await expect(journal.post(RUN, item)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", runId: RUN });
    await journal.post(other, item);
  });
});

test("T5: a row of runs that was lost leaves nothing that a new run would take for its own", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const claim = await journal.claim(RUN, "writer", 60_000);
  const waits = [{ kind: "signal", name: "go", agentId: "lead", execId: "e", since: 1 }];
  const body = { waits, keys: ["wait#1"], over: [], heard: 0 };
  const note = entry("run:waits", { phase: "note", body });
  await journal.append(RUN, claim?.epoch ?? 0, [note]);
  const db = new DatabaseSync(join(directory, "ravi.db"));
  db.exec("DELETE FROM runs");
  db.close();
  const other = RunId("run-2");
  const next = await journal.claim(other, "writer", 60_000);
  await journal.append(other, next?.epoch ?? 0, [entry("k", { exec: ExecId(other) })]);
  // Its writer does not know yet. Whatever becomes of that, it does not get into the other run.
  await journal.append(RUN, claim?.epoch ?? 0, [entry("late")]).catch(() => {});
  expect(await journal.load(other)).toHaveLength(1);
  expect(journal.list().map(({ runId, entries, waitingFor }) => [runId, entries, waitingFor])).toEqual([
    [other, 1, undefined],
  ]);
  await journal.append(other, next?.epoch ?? 0, [entry("k#2", { exec: ExecId(other) })]);
  await journal.close();
});

test("T5: a posted item that was changed, or is missing between others, is named", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  for (const id of ["a", "b", "c"]) {
    await journal.post(RUN, { id, kind: "signal", name: "approval", value: id, at: 1 });
  }
  const db = new DatabaseSync(join(directory, "ravi.db"));
  db.exec(`UPDATE items SET value = '"yes"' WHERE id = 'c'`);
  expect(() => journal.items(RUN, 0)).toThrow(
    expect.objectContaining({ code: "JOURNAL_CORRUPT", position: 3 }),
  );
  db.exec(`DELETE FROM items WHERE id = 'b'`);
  expect(() => journal.items(RUN, 0)).toThrow(
    expect.objectContaining({ code: "JOURNAL_CORRUPT", position: 2 }),
  );
  db.close();
  await journal.close();
});

test("T5: a blob that was changed or lost is named with the entry that needs it", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const claim = await journal.claim(RUN, "one", 60_000);
  const large = entry("large", { body: { text: "x".repeat(300_000) } });
  await journal.append(RUN, claim?.epoch ?? 0, [entry("small"), large]);
  const ref = await journal.blobs.put(new Uint8Array([1, 2, 3]));
  const db = new DatabaseSync(join(directory, "ravi.db"));
  for (const sql of [
    "UPDATE blobs SET bytes = x'00'",
    "UPDATE blobs SET bytes = 'text'",
    "DELETE FROM blobs",
  ]) {
    db.exec(sql);
    await expect(journal.load(RUN)).rejects.toMatchObject({
      code: "JOURNAL_CORRUPT",
      runId: RUN,
      position: 2,
    });
    await expect(journal.blobs.get(ref)).rejects.toThrow(/blob/);
  }
  db.close();
  await journal.close();
});

test("T5: every byte of a row's text, flipped in the file itself, is found", async () => {
  const directory = temporaryDirectory();
  await written(directory, 3);
  const file = join(directory, "ravi.db");
  const whole = readFileSync(file);
  const needle = '[["run-1","k#2",1,"begin",1,{"text":"body of k#2"}]]';
  const at = whole.indexOf(needle);
  expect(at).toBeGreaterThan(0);
  for (let offset = 0; offset < needle.length; offset++) {
    const bytes = Buffer.from(whole);
    bytes[at + offset] = (bytes[at + offset] ?? 0) ^ (1 << (offset % 8));
    writeFileSync(file, bytes);
    const journal = SqliteJournal.open(directory);
    await expect(journal.load(RUN)).rejects.toMatchObject({
      code: "JOURNAL_CORRUPT",
      runId: RUN,
      position: 2,
    });
    await journal.close();
  }
});

test(
  "T5: any byte flipped anywhere gives the true entries or an error of ours, never others",
  { timeout: LONG ? 900_000 : 120_000 },
  async () => {
    const directory = temporaryDirectory();
    await written(directory, 12);
    const file = join(directory, "ravi.db");
    const whole = readFileSync(file);
    const truth = await loaded(directory);
    const flips = LONG ? 5_000 : 150;
    const outcomes = new Set<string>();
    for (let flip = 0; flip < flips; flip++) {
      const bytes = Buffer.from(whole);
      const at = Math.floor(Math.random() * bytes.length);
      const bit = Math.floor(Math.random() * 8);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      writeFileSync(file, bytes);
      const found = await loaded(directory);
      outcomes.add(found === truth ? "same" : found);
      // The id in the index of runs may be hit: then there is no such run, which is said as an empty list.
      expect([truth, "JOURNAL_CORRUPT", "INVALID_VALUE", "[]"], `bit ${bit} of byte ${at}`).toContain(found);
    }
    expect(outcomes).toContain("same");
  },
);

async function loaded(directory: string): Promise<string> {
  let journal: SqliteJournal | undefined;
  try {
    journal = SqliteJournal.open(directory);
    return JSON.stringify(await journal.load(RUN));
  } catch (error) {
    return String((error as { code?: unknown }).code);
  } finally {
    await journal?.close();
  }
}
