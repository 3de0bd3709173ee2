import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { ExecId, type Journal, RunId, type RunStatus } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { entry, RUN, written } from "./helpers/sample.ts";

const DAY = 86_400_000;

async function ended(
  journal: Journal,
  id: string,
  at: number,
  status: RunStatus,
  keep = false,
): Promise<void> {
  const run = RunId(id);
  const claim = await journal.claim(run, "one", 10 * DAY);
  const epoch = claim?.epoch ?? 0;
  const notes = [
    entry("run:start", { exec: ExecId(run), phase: "note", at, body: { agent: "lead@1" } }),
    entry("run:status", { exec: ExecId(run), phase: "note", at, body: { status } }),
  ];
  await journal.append(run, epoch, notes);
  await journal.post(run, { id: "s", kind: "signal", name: "n", value: 1, at });
  if (!keep) await journal.release(run, epoch);
}

const both = [
  ["MemoryJournal", (clock: { now(): number }) => new MemoryJournal({ clock })],
  ["SqliteJournal", (clock: { now(): number }) => SqliteJournal.open(temporaryDirectory(), { clock })],
] as const;

test.each(both)(
  "%s: pruning removes what ended long ago, and nothing that is held, young or unfinished",
  async (_name, open) => {
    const clock = virtualClock({ now: 100 * DAY });
    const journal = open(clock);
    const old = clock.now() - 8 * DAY;
    await ended(journal, "old", old, "completed");
    await ended(journal, "old-failed", old, "failed");
    await ended(journal, "old-suspended", old, "suspended");
    await ended(journal, "old-held", old, "completed", true);
    await ended(journal, "young", clock.now() - 6 * DAY, "completed");
    await journal.post(RunId("orphan"), { id: "s", kind: "signal", name: "n", value: 1, at: old });
    await journal.post(RunId("early"), { id: "s", kind: "signal", name: "n", value: 1, at: clock.now() });
    expect([...(await journal.prune({ olderThanMs: 7 * DAY }))].toSorted()).toEqual(["old", "old-failed"]);
    const left = journal.list().map(({ runId }) => runId);
    expect(left).toEqual(["old-suspended", "old-held", "young"]);
    expect(journal.items(RunId("old"), 0)).toEqual([]);
    expect(journal.items(RunId("orphan"), 0)).toEqual([]);
    expect(journal.items(RunId("early"), 0)).toHaveLength(1);
    expect(await journal.prune({ olderThanMs: 7 * DAY, statuses: ["suspended"] })).toEqual(["old-suspended"]);
    const wrong = async (): Promise<unknown> => journal.prune({ olderThanMs: -1 });
    await expect(wrong()).rejects.toMatchObject({ code: "INVALID_VALUE" });
    await journal.close();
  },
);

test("large bodies are kept once, as long as any run needs them; what was put by hand stays", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const db = new DatabaseSync(join(directory, "ravi.db"));
  const blobs = (): unknown => db.prepare("SELECT count(*) AS n FROM blobs").get()?.["n"];
  const large = { text: "x".repeat(300_000) };
  for (const id of ["one", "two"]) {
    const epoch = (await journal.claim(RunId(id), "me", 1_000))?.epoch ?? 0;
    await journal.append(RunId(id), epoch, [entry("a", { body: large }), entry("b", { body: large })]);
  }
  expect(blobs()).toBe(1);
  const bytes = new TextEncoder().encode("by hand");
  const ref = await journal.blobs.put(bytes);
  expect(await journal.blobs.put(bytes)).toBe(ref);
  await journal.delete(RunId("one"));
  expect(blobs()).toBe(2);
  expect((await journal.load(RunId("two"))).map(({ body }) => body)).toEqual([large, large]);
  await journal.delete(RunId("two"));
  expect(blobs()).toBe(1);
  expect(new TextDecoder().decode(await journal.blobs.get(ref))).toBe("by hand");
  db.close();
  await journal.close();
});

test("blobs are copies, named by their content, and an unknown name is an error", async () => {
  const journal = SqliteJournal.open(temporaryDirectory());
  for (const store of [new MemoryBlobs(), journal.blobs]) {
    const bytes = new Uint8Array([1, 2, 3]);
    const put = store.put(bytes);
    bytes[0] = 9;
    const ref = await put;
    expect(ref).toBe("sha256-039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81");
    const got = await store.get(ref);
    expect([...got]).toEqual([1, 2, 3]);
    got[0] = 7;
    expect([...(await store.get(ref))]).toEqual([1, 2, 3]);
    const unknown = async (): Promise<unknown> => store.get("sha256-00");
    await expect(unknown()).rejects.toMatchObject({ code: "INVALID_VALUE" });
    const empty = await store.put(new Uint8Array(0));
    expect([...(await store.get(empty))]).toEqual([]);
  }
  await journal.close();
});

test("room that a deleted run leaves is used again", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  const sizes: number[] = [];
  for (let round = 0; round < 6; round++) {
    const epoch = (await journal.claim(RUN, "one", 1_000))?.epoch ?? 0;
    const entries = Array.from({ length: 50 }, (_, n) =>
      entry(`k#${n}`, { body: { text: "x".repeat(2_000) } }),
    );
    for (const each of entries) await journal.append(RUN, epoch, [each]);
    await journal.delete(RUN);
    sizes.push(statSync(join(directory, "ravi.db")).size);
  }
  await journal.close();
  expect(statSync(join(directory, "ravi.db")).size).toBeLessThan(3 * 50 * 2_400);
});

test("T5: to delete a run takes no look at the blobs of all others", async () => {
  const directory = temporaryDirectory();
  await SqliteJournal.open(directory).close();
  const plan = (first = ""): string => {
    using db = new DatabaseSync(join(directory, "ravi.db"));
    db.exec(first);
    const steps = db.prepare("EXPLAIN QUERY PLAN SELECT 1 FROM blob_uses WHERE ref = ?").all("sha256-00");
    return steps.map(({ detail }) => String(detail)).join();
  };
  expect(plan()).toMatch(/^SEARCH blob_uses USING/);
  expect(plan("DROP INDEX blob_users")).toMatch(/^SCAN blob_uses/);
});

test("T5: only what is about all runs reads a whole table, and the list of runs reads no entries", async () => {
  const directory = temporaryDirectory();
  const preparing = vi.spyOn(DatabaseSync.prototype, "prepare");
  onTestFinished(() => preparing.mockRestore());
  await SqliteJournal.open(directory).close();
  const statements = preparing.mock.calls.map(([sql]) => sql).filter((sql) => !sql.startsWith("PRAGMA"));
  using db = new DatabaseSync(join(directory, "ravi.db"));
  const planOf = (sql: string): string =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .join("\n");
  const scans = statements.filter((sql) =>
    /^SCAN (?:runs|tips|log|items|waits|blobs|blob_uses)\b/m.test(planOf(sql)),
  );
  const isList = (sql: string): boolean => sql.endsWith("FROM runs LEFT JOIN tips ON run = no ORDER BY no");
  expect(scans.filter((sql) => !isList(sql))).toEqual([
    // If the chain of a run is broken.
    "DELETE FROM log WHERE run = ?",
    "SELECT run FROM items WHERE run NOT IN (SELECT id FROM runs) GROUP BY run HAVING max(at) <= ?",
    // From its end, and no further.
    "SELECT rowid AS row, run, id FROM items ORDER BY rowid DESC LIMIT 1",
  ]);
  expect(scans.filter(isList).map(planOf).join("\n")).not.toMatch(/\blog\b/);
  expect(scans.filter(isList)).toHaveLength(2);
  expect(statements.length).toBeGreaterThan(30);
});

test("T5: a run that another process deletes while it is read is read whole, and is no damage", async () => {
  const directory = temporaryDirectory();
  await written(directory, 40);
  const journal = SqliteJournal.open(directory);
  const other = new DatabaseSync(join(directory, "ravi.db"));
  const { all } = StatementSync.prototype;
  let deleted = 0;
  const reading = vi.spyOn(StatementSync.prototype, "all").mockImplementation(function (
    this: StatementSync,
    ...given
  ) {
    const rows = all.apply(this, given);
    // After the first rows, as another process may do it.
    if (deleted++ === 0) other.exec("BEGIN; DELETE FROM log; DELETE FROM tips; DELETE FROM runs; COMMIT");
    return rows;
  });
  onTestFinished(() => reading.mockRestore());
  expect(await journal.load(RUN)).toHaveLength(40);
  expect(deleted).toBeGreaterThan(1);
  expect(await journal.load(RUN)).toEqual([]);
  other.close();
  await journal.close();
});

test("T5: pruning very many holds up nobody who writes meanwhile, and spares what is taken up again", async () => {
  const clock = virtualClock({ now: 100 * DAY });
  const journal = SqliteJournal.open(temporaryDirectory(), { clock });
  const ids = Array.from({ length: 250 }, (_, n) => RunId(`run-${n}`));
  await Promise.all(ids.map((id) => ended(journal, id, clock.now() - 8 * DAY, "completed")));
  const pruning = journal.prune({ olderThanMs: 7 * DAY });
  let posts = 0;
  while (journal.list().length === ids.length)
    await journal.post(RUN, { id: `${posts++}`, kind: "signal", name: "n", value: 1, at: clock.now() });
  const last = RunId("run-249");
  expect(await journal.claim(last, "two", DAY)).not.toBeNull();
  expect(journal.list().length).toBeGreaterThan(2);
  expect(await pruning).toHaveLength(249);
  expect(journal.list().map(({ runId }) => runId)).toEqual([last]);
  await journal.close();
});

test.each([
  ["in many entries", 300, 10],
  ["in few large ones", 2, 2_000_000],
])("T5: runs that are huge (%s) are pruned a few at a time", async (_how, count, size) => {
  const clock = virtualClock({ now: 100 * DAY });
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory, { clock });
  const ids = Array.from({ length: 12 }, (_, n) => RunId(`run-${n}`));
  const fill = async (id: RunId): Promise<void> => {
    const epoch = (await journal.claim(id, "one", DAY))?.epoch ?? 0;
    for (let n = 0; n < count; n++)
      await journal.append(id, epoch, [entry(`${n}`, { body: { text: `${id} ${n}`.padEnd(size) } })]);
    await ended(journal, id, clock.now() - 8 * DAY, "completed");
  };
  await Promise.all(ids.map(fill));
  // Another process that looks on: what it sees gone at once was gone in one transaction.
  const other = new DatabaseSync(join(directory, "ravi.db"));
  const left = (): number => Number(other.prepare("SELECT count(*) AS n FROM runs").get()?.["n"]);
  const pruning = journal.prune({ olderThanMs: 7 * DAY });
  let [most, before] = [0, left()];
  while (before > 0) {
    await journal.post(RUN, { id: "x", kind: "signal", name: "n", value: 1, at: clock.now() });
    most = Math.max(most, before - left());
    before = left();
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(ids.length / 2);
  expect(await pruning).toEqual(ids);
  other.close();
  await journal.close();
});

test("T4: who begins to listen to a journal that is closed leaves no timer behind", async () => {
  const journal = SqliteJournal.open(temporaryDirectory());
  await journal.close();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { stop } = journal.watch(RUN, () => {});
  expect(vi.getTimerCount()).toBe(0);
  stop();
});
