import { spawnSync } from "node:child_process";
import { RunId } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { start } from "./helpers/process.ts";
import { entry } from "./helpers/sample.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;
const KILLS = LONG ? 60 : 4;
const run = RunId("killed");

test(
  "T5: kill -9 at random moments loses nothing that was acknowledged, leaves no gap, and the next append works",
  { timeout: LONG ? 600_000 : 60_000 },
  async () => {
    const directory = temporaryDirectory();
    for (let kill = 1; kill <= KILLS; kill++) {
      const writer = start("writer.ts", [directory, run, "writer"]);
      // From the first acknowledgement on, at a number of them that nothing in the writer depends on.
      await writer.heard(1 + Math.floor(Math.random() * 120));
      writer.kill();
      const { signal, stderr } = await writer.ended;
      expect([signal, stderr]).toEqual(["SIGKILL", ""]);
      const acknowledged = Number(writer.lines.at(-1));

      const journal = SqliteJournal.open(directory);
      const records = await journal.load(run);
      expect(records.map(({ seq, key }) => [seq, key])).toEqual(
        records.map((_, index) => [index + 1, `k#${index + 1}`]),
      );
      // One may have been written whose word did not get out.
      expect(records.length - acknowledged).toBeGreaterThanOrEqual(0);
      expect(records.length - acknowledged).toBeLessThanOrEqual(1);
      await journal.close();
    }
    const journal = SqliteJournal.open(directory, { clock: { now: () => Date.now() + 900_000 } });
    const before = (await journal.load(run)).length;
    const claim = await journal.claim(run, "after", 1_000);
    await journal.append(run, claim?.epoch ?? 0, [entry("after")]);
    expect((await journal.load(run)).at(-1)).toMatchObject({ seq: before + 1, key: "after" });
    await journal.close();
  },
);

test(
  "T5: several processes open one new directory at once, and write different runs to it",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const count = 60;
    const writers = [1, 2, 3].map((n) =>
      start("writer.ts", [directory, `run-${n}`, `writer-${n}`, `${count}`]),
    );
    for (const { ended } of writers) expect(await ended).toEqual({ code: 0, signal: null, stderr: "" });
    const journal = SqliteJournal.open(directory);
    for (const n of [1, 2, 3]) {
      const records = await journal.load(RunId(`run-${n}`));
      expect(records.map(({ seq, key }) => [seq, key])).toEqual(
        Array.from({ length: count }, (_, index) => [index + 1, `k#${index + 1}`]),
      );
    }
    await journal.close();
  },
);

test(
  "T5: of several processes that want one run, one has it at a time, and each goes on behind the last",
  { timeout: 60_000 },
  async () => {
    const directory = temporaryDirectory();
    const writers = ["a", "b", "c"].map((owner) => start("writer.ts", [directory, run, owner, "30"]));
    for (const { ended } of writers) expect(await ended).toEqual({ code: 0, signal: null, stderr: "" });
    const numbers = writers.map(({ lines }) => lines.map(Number));
    // Nobody wrote while another one held the claim, so each has a stretch of its own.
    for (const own of numbers) expect(own).toEqual(own.map((_, index) => (own[0] ?? 0) + index));
    expect(numbers.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 90 }, (_, n) => n + 1));
    const journal = SqliteJournal.open(directory);
    expect(await journal.load(run)).toHaveLength(90);
    await journal.close();
  },
);

/** The Nth call of one kind fails in the writer's process, and so do all after it: a disk that broke stays broken. */
function failing(call: string, error: string, nth: number): readonly string[] {
  return [
    "strace",
    "-f",
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:error=${error}:when=${nth}+`,
  ];
}

// Each case starts a process under strace, which takes seconds; so they belong to the long run.
describe.each(LONG ? ["the Nth operation on the file fails"] : [])("T5: %s", () => {
  test("strace is installed (apt-get install strace), or none of this was tried", () => {
    expect(spawnSync("strace", ["--version"]).status).toBe(0);
  });

  const calls = [
    ["pwrite64", "ENOSPC"],
    ["pwrite64", "EIO"],
    ["pwrite64", "EFBIG"],
    ["fsync,fdatasync", "EIO"],
    ["ftruncate", "EIO"],
  ] as const;
  const cases = calls.flatMap(([call, error]) =>
    [1, 2, 3, 5, 8, 13, 21, 40, 80].map((nth) => [call, error, nth] as const),
  );

  test.each(cases)("%s gives %s from the %ith on", { timeout: 120_000 }, async (call, error, nth) => {
    const directory = temporaryDirectory();
    // One that wrote well, so that there is something to lose.
    const before = start("writer.ts", [directory, run, "writer", "20"]);
    expect(await before.ended).toEqual({ code: 0, signal: null, stderr: "" });
    const writer = start("writer.ts", [directory, run, "writer", "60"], failing(call, error, nth));
    const { code, stderr } = await writer.ended;
    const acknowledged = Number(writer.lines.at(-1) ?? 20);
    // It stops with an error of ours, unless it never came to the Nth; to the first it surely does.
    if (code !== 0 || nth === 1) expect(stderr).toMatch(/JOURNAL_FAILED|INVALID_VALUE/);
    else expect(acknowledged).toBe(80);

    const journal = SqliteJournal.open(directory, { clock: { now: () => Date.now() + 900_000 } });
    const records = await journal.load(run);
    expect(records.map(({ seq, key }) => [seq, key])).toEqual(
      records.map((_, index) => [index + 1, `k#${index + 1}`]),
    );
    expect(records.length).toBeGreaterThanOrEqual(acknowledged);
    expect(records.length).toBeLessThanOrEqual(acknowledged + 1);
    const claim = await journal.claim(run, "after", 1_000);
    await journal.append(run, claim?.epoch ?? 0, [entry("after")]);
    expect((await journal.load(run)).at(-1)).toMatchObject({ seq: records.length + 1, key: "after" });
    await journal.close();
  });
});
