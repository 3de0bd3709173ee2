import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ExecId, type Journal, type JournalEntry, RunId } from "@ravi/kernel";
import { MemoryJournal, SqliteJournal } from "@ravi/runtime";
import { compare, type Comparison, measurePairs, median, type Pair } from "./harness/pairs.ts";
import { figure, table } from "./harness/table.ts";

// An effect is a begin and then an end entry, each awaited, with many runs at once. It is compared with appending the same bytes
// in the same groups to a plain file, and with one prepared INSERT, both without claims, checks, checksums and ordering.

interface Load {
  readonly runs: number;
  readonly effects: number;
  readonly bytes: number;
}

/** Appends an entry of a run. Resolves, or returns, when it is on disk. */
type Append = (run: number, entry: JournalEntry) => PromiseLike<void> | void;

interface Subject {
  readonly open: (runs: number, directory: string) => Promise<{ append: Append; close: () => Promise<void> }>;
}

const ids = Array.from({ length: 200 }, (_, n) => RunId(`01J8ZQ2M4F3E-${n}`));

function ravi(make: (directory: string) => Journal): Subject {
  return {
    async open(runs, directory) {
      const opened = make(directory);
      const epochs: number[] = [];
      for (const id of ids.slice(0, runs))
        epochs.push((await opened.claim(id, "bench", 600_000))?.epoch ?? 0);
      return {
        append: (run, entry) => opened.append(ids[run] as RunId, epochs[run] ?? 0, [entry]),
        close: async () => opened.close(),
      };
    },
  };
}

/** Collects the entries of one turn of the event loop into one write, as the journal does. */
function grouped(write: (group: readonly { run: number; text: string }[]) => void): Append {
  let group: { run: number; text: string; done: () => void }[] = [];
  const flush = (): void => {
    const written = group;
    group = [];
    write(written);
    for (const { done } of written) done();
  };
  return (run, entry) =>
    new Promise((done) => {
      if (group.push({ run, text: textOf(entry), done }) === 1) setImmediate(flush);
    });
}

function textOf({ exec, key, attempt, phase, at, body }: JournalEntry): string {
  return JSON.stringify([[exec, key, attempt, phase, at, body]]);
}

const bareInsert: Subject = {
  async open(_runs, directory) {
    const db = new DatabaseSync(join(directory, "bare.db"));
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    db.exec("CREATE TABLE log (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, data TEXT NOT NULL)");
    const [begin, insert, commit] = [
      db.prepare("BEGIN IMMEDIATE"),
      db.prepare("INSERT INTO log VALUES (NULL, ?, ?)"),
      db.prepare("COMMIT"),
    ];
    const append = grouped((group) => {
      begin.run();
      for (const { run, text } of group) insert.run(run, text);
      commit.run();
    });
    return { append, close: async () => db.close() };
  },
};

const bareFile: Subject = {
  async open(_runs, directory) {
    const file = openSync(join(directory, "bare.log"), "a");
    const append = grouped((group) => {
      writeSync(file, group.map(({ run, text }) => `${run} ${text}\n`).join(""));
      fdatasyncSync(file);
    });
    return { append, close: async () => closeSync(file) };
  },
};

function entryOf(run: number, n: number, phase: "begin" | "end", text: string): JournalEntry {
  const exec = ExecId(ids[run] as RunId);
  return { exec, key: `llm:model#${n}`, attempt: 1, phase, at: 1_700_000_000_000 + n, body: { text, n } };
}

/** Microseconds per effect: wall time, which includes the disk, and processor time. */
interface Cost {
  readonly wall: number;
  readonly cpu: number;
}

async function perEffect(subject: Subject, load: Load): Promise<Cost> {
  const directory = mkdtempSync(join(tmpdir(), "ravi-bench-"));
  const { append, close } = await subject.open(load.runs, directory);
  const text = "x".repeat(load.bytes);
  const start = performance.now();
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: load.runs }, async (_, run) => {
      for (let n = 0; n < load.effects; n++) {
        const begun = append(run, entryOf(run, n, "begin", text));
        if (begun !== undefined) await begun;
        const ended = append(run, entryOf(run, n, "end", text));
        if (ended !== undefined) await ended;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const wall = (performance.now() - start) * 1_000;
  await close();
  rm(directory);
  const count = load.runs * load.effects;
  return { wall: wall / count, cpu: (user + system) / count };
}

/** The first rounds of each subject are far slower, and not equally so. */
const WARM_UP_ROUNDS = 5;

async function pairsOf(pairs: number, base: Subject, load: Load): Promise<readonly Pair<Cost>[]> {
  const [ours, theirs] = [() => perEffect(SQLITE, load), () => perEffect(base, load)];
  await measurePairs(WARM_UP_ROUNDS, ours, theirs);
  return measurePairs(pairs, ours, theirs);
}

function compareBy(key: keyof Cost, pairs: readonly Pair<Cost>[]): Comparison {
  return compare(pairs.map(({ ours, base }) => ({ ours: ours[key], base: base[key] })));
}

const SQLITE = ravi((directory) => SqliteJournal.open(directory));
const MEMORY = ravi(() => new MemoryJournal());

async function effects(pairs: number): Promise<void> {
  const loads: readonly (readonly [string, Load])[] = [
    ["1 run, small", { runs: 1, effects: 150, bytes: 60 }],
    ["1 run, 1 KB", { runs: 1, effects: 150, bytes: 1_000 }],
    ["200 runs, small", { runs: 200, effects: 60, bytes: 60 }],
    ["200 runs, 1 KB", { runs: 200, effects: 60, bytes: 1_000 }],
  ];
  const rows: string[][] = [];
  for (const [name, load] of loads) {
    const memory: number[] = [];
    for (let n = 0; n < pairs; n++)
      memory.push((await perEffect(MEMORY, { ...load, effects: load.effects * 4 })).wall);
    const insertPairs = await pairsOf(pairs, bareInsert, load);
    const [insert, cpu] = [compareBy("wall", insertPairs), compareBy("cpu", insertPairs)];
    const file = compareBy("wall", await pairsOf(pairs, bareFile, load));
    const rates = [median(memory), insert.ours, insert.base, file.base].map(perSecond);
    rows.push([name, ...rates, ...[insert, cpu, file].map(({ ratio }) => `${ratio.toFixed(2)}×`)]);
  }
  const head = ["effects/s", "memory", "SQLite", "bare INSERT", "bare file"];
  console.log(table([...head, "to INSERT", "in CPU time", "to file"], rows));
}

function perSecond(microseconds: number): string {
  return Math.round(1_000_000 / microseconds).toLocaleString("en");
}

/**
 * Writes a run of 100,000 entries in as many rows, and measures how long a process that just opened the file takes to load it.
 */
async function resumes(): Promise<void> {
  const rows: string[][] = [];
  for (const bytes of [60, 1_000]) {
    // In memory if there is a RAM disk: 100,000 commits on a disk take minutes, and only the loading is of interest.
    const directory = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ravi-bench-"));
    const { append, close } = await SQLITE.open(1, directory);
    const text = "x".repeat(bytes);
    for (let n = 0; n < 50_000; n++) {
      await append(0, entryOf(0, n, "begin", text));
      await append(0, entryOf(0, n, "end", text));
    }
    await close();
    const times: number[] = [];
    for (let round = 0; round < 5; round++) {
      const opened = SqliteJournal.open(directory);
      const start = performance.now();
      const records = await opened.load(ids[0] as RunId);
      times.push(performance.now() - start);
      if (records.length !== 100_000) throw new Error(`${records.length} entries came back`);
      await opened.close();
    }
    rm(directory);
    rows.push([`${bytes} bytes a body`, figure(median(times)), figure(Math.min(...times))]);
  }
  console.log(table(["load of 100,000 entries, ms", "median", "best"], rows));
}

/** Bytes on disk per turn. A turn is a model call and a tool call, each with a begin, and an end that holds a message of 1 KB. */
async function sizes(): Promise<void> {
  const rows: string[][] = [];
  for (const turns of [100, 1_000]) {
    const directory = mkdtempSync(join(tmpdir(), "ravi-bench-"));
    const { append, close } = await SQLITE.open(1, directory);
    const [mark, message] = ["h".repeat(64), "x".repeat(1_000)];
    for (let n = 0; n < turns * 2; n++) {
      await append(0, entryOf(0, n, "begin", mark));
      await append(0, entryOf(0, n, "end", message));
    }
    await close();
    rows.push([`${turns} turns`, figure(statSync(join(directory, "ravi.db")).size / turns)]);
    rm(directory);
  }
  console.log(table(["two messages of 1 KB a turn", "bytes a turn"], rows));
}

function rm(directory: string): void {
  rmSync(directory, { recursive: true });
}

export async function journal(pairs = 15): Promise<void> {
  await effects(pairs);
  console.log();
  await resumes();
  console.log();
  await sizes();
}
