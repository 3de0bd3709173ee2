import { runInNewContext } from "node:vm";
import { crc32 } from "node:zlib";
import { ExecId, type Journal, type JournalEntry, type RunId } from "@ravi/kernel";
import { anyText } from "@ravi/testing/suites";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Identities, type Identity } from "../../src/journal/entries/identities.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { checksum, checksumSeed } from "../../src/journal/sqlite/checksum.ts";
import { isBusy } from "../../src/journal/sqlite/errors.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { Watchers } from "../../src/journal/parts/watchers.ts";
import { temporaryDirectory } from "./helpers/directory.ts";
import { entry, RUN } from "./helpers/sample.ts";

const RUNS = process.env["RAVI_LONG"] === undefined ? 300 : 20_000;

test("T5: a row's checksum is the CRC-32 of one text, however it is put together", () => {
  const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 1, 9, 10, 99, 100, 1e15));
  fc.assert(
    fc.property(anyText(), number, number, number, number, (text, run, first, count, prev) => {
      const id = text as RunId;
      const whole = crc32(`${id}\n${run} ${first} ${count} ${prev}\n${text}`);
      expect(checksum(checksumSeed(id, run), { first, count, prev, data: text })).toBe(whole);
    }),
    { numRuns: RUNS },
  );
});

test("T5: what SQLite says is understood if its errors are of another realm, as in jest", () => {
  const error: unknown = runInNewContext("Object.assign(new Error(), { errcode: 5 })");
  expect(error).not.toBeInstanceOf(Error);
  expect(isBusy(error)).toBe(true);
  expect([isBusy(null), isBusy(5), isBusy({ errcode: "5" })]).toEqual([false, false, false]);
});

test("T4: a listener that throws keeps neither the others from a post nor the post from whoever made it", () => {
  const later: (() => void)[] = [];
  vi.stubGlobal("queueMicrotask", (task: () => void) => void later.push(task));
  try {
    const journal = new MemoryJournal();
    const told: string[] = [];
    const watches = [
      journal.watch(RUN, () => {
        throw new Error("a listener of the user's");
      }),
      journal.watch(RUN, () => void told.push("second")),
    ];
    journal.post(RUN, { id: "1", at: 0, kind: "signal", name: "go", value: true });
    expect(told).toEqual(["second"]);
    expect(later).toHaveLength(1);
    expect(later[0], "the platform hears of it").toThrow("a listener of the user's");
    for (const watch of watches) watch.stop();
  } finally {
    vi.unstubAllGlobals();
  }
});

test("T4: watches hear what is posted to their run from then on, in their order, until they are stopped", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constantFrom("add", "tell"), run: fc.constantFrom("a", "b") }),
    fc.record({ do: fc.constant("stop"), at: fc.nat(2) }),
    fc.constant({ do: "tellAll" }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40, size: "max" }), (steps) => {
      let empty = 0;
      let told: number[] = [];
      const watchers = new Watchers({ coversAll: true, onEmpty: () => void empty++ });
      const all: { run: string; isOn: boolean; stop: () => void }[] = [];
      for (const each of steps) {
        told = [];
        const heardBy = (run: string | undefined): number[] =>
          [...all.keys()].filter((n) => all[n]?.isOn === true && (run === undefined || all[n].run === run));
        if (each.do === "add" && "run" in each) {
          const name = all.length;
          const { stop } = watchers.add(each.run as RunId, () => void told.push(name));
          all.push({ run: each.run, isOn: true, stop });
        } else if ("at" in each) {
          const watch = all[each.at];
          const isLast = watch?.isOn === true && heardBy(undefined).length === 1;
          const before = empty;
          watch?.stop();
          if (watch !== undefined) watch.isOn = false;
          expect(empty - before).toBe(isLast ? 1 : 0);
        } else if ("run" in each) {
          watchers.tell(each.run as RunId);
          expect(told).toEqual(heardBy(each.run));
        } else {
          watchers.tellAll();
          expect(told).toEqual(heardBy(undefined));
        }
      }
    }),
    { numRuns: RUNS },
  );
});

test("T4: a watch that another has stopped just now is told of nothing more", () => {
  const watchers = new Watchers({ coversAll: false });
  const told: string[] = [];
  watchers.add("a" as RunId, () => {
    told.push("a");
    second.stop();
  });
  const second = watchers.add("b" as RunId, () => void told.push("b"));
  watchers.tellAll();
  expect(told).toEqual(["a"]);
});

test("R24: identities are those of a plain set of texts, in lists that are taken whole or not at all", () => {
  const identity: fc.Arbitrary<Identity> = fc.tuple(
    fc.constantFrom("run", "run/a", "run/b"),
    fc.constantFrom("k#1", "k#2", "k#3"),
    fc.constantFrom(1, 2),
    fc.constantFrom("begin", "end", "note"),
  );
  fc.assert(
    fc.property(fc.array(fc.array(identity, { minLength: 1, maxLength: 4 }), { maxLength: 30 }), (lists) => {
      const identities = new Identities();
      const model = new Set<string>();
      for (const list of lists) {
        const texts = list.map((each) => JSON.stringify(each));
        const double = texts.findIndex((text, at) => model.has(text) || texts.indexOf(text) !== at);
        expect(identities.addAll(list)).toBe(list[double]);
        if (double === -1) texts.forEach((text) => model.add(text));
      }
    }),
    { numRuns: RUNS },
  );
});

const both: readonly (readonly [string, () => Journal])[] = [
  ["MemoryJournal", () => new MemoryJournal()],
  ["SqliteJournal", () => SqliteJournal.open(temporaryDirectory())],
];

describe.each(both)("%s", (_name, open) => {
  const attempt = async (act: () => unknown): Promise<unknown> => act();

  test("R24: no entry of a long run is taken twice, whichever it is", async () => {
    const journal = open();
    const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
    const entries = Array.from({ length: 40 }, (_, n) => `k#${n}`).flatMap((key): JournalEntry[] => {
      const exec = Number(key.slice(2)) % 5 === 0 ? ExecId(RUN, "hire:a#1") : ExecId(RUN);
      return [entry(key, { exec }), entry(key, { exec, phase: "end" }), entry(key, { exec, attempt: 2 })];
    });
    for (const [at, each] of entries.entries()) {
      await journal.append(RUN, epoch, [each]);
      const known = entries[Math.floor(at / 2)];
      for (const double of [each, known]) {
        if (double === undefined) continue;
        await expect(attempt(() => journal.append(RUN, epoch, [double]))).rejects.toMatchObject({
          code: "INVALID_VALUE",
        });
      }
    }
    expect(
      (await journal.load(RUN)).map(({ exec, key, attempt: n, phase }) => [exec, key, n, phase]),
    ).toEqual(entries.map(({ exec, key, attempt: n, phase }) => [exec, key, n, phase]));
    await journal.close();
  });

  test("R24: the id of an execution is checked in a long run too, whatever was refused before", async () => {
    const journal = open();
    const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
    for (let n = 0; n < 40; n++) {
      const exec = n % 2 === 0 ? ExecId(RUN) : ExecId(RUN, "hire:a#1");
      await journal.append(RUN, epoch, [entry(`k#${n}`, { exec })]);
    }
    const odd = ["run\n", "", 7].map((exec) => entry("odd", { exec: exec as ExecId }));
    const refused = { code: "INVALID_VALUE", field: "entry.exec" };
    for (const each of odd) {
      for (const list of [[each], [entry("new"), each], [each]])
        await expect(attempt(() => journal.append(RUN, epoch, list))).rejects.toMatchObject(refused);
    }
    expect(await journal.load(RUN)).toHaveLength(40);
    await journal.close();
  });

  test("R24: an append made at the moment in which its run is given back, or deleted, is refused", async () => {
    const ends: readonly ((journal: Journal, epoch: number) => unknown)[] = [
      (journal, epoch) => journal.release(RUN, epoch),
      (journal) => journal.delete(RUN),
      (journal, epoch) => [journal.release(RUN, epoch), journal.claim(RUN, "two", 60_000)],
    ];
    for (const end of ends) {
      const journal = open();
      const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
      // From now on the journal knows all about the run, and need not look.
      await journal.append(RUN, epoch, [entry("a")]);
      const ended = attempt(() => end(journal, epoch));
      const late = attempt(() => journal.append(RUN, epoch, [entry("b")]));
      await expect(late).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
      await ended;
      expect((await journal.load(RUN)).map(({ key }) => key)).not.toContain("b");
      await journal.close();
    }
  });

  test("R24: each field is read once, and kept as JSON gives it back", async () => {
    const journal = open();
    const epoch = (await journal.claim(RUN, "one", 60_000))?.epoch ?? 0;
    let reads = 0;
    const shifty = {
      ...entry("a", { attempt: -0, at: -0 }),
      get key() {
        return reads++ === 0 ? "first" : "se\ncond";
      },
    };
    await journal.append(RUN, epoch, [shifty]);
    const [record] = await journal.load(RUN);
    expect([record?.key, record?.attempt, record?.at]).toEqual(["first", 0, 0]);
    await journal.close();
  });
});
