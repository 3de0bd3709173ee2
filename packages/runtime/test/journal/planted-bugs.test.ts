import type { Journal, JournalEntry, JournalRecord, PostedItem, PostedRecord, RunId } from "@ravi/kernel";
import { journalCases, type JournalSetup, assertJournalCase } from "@ravi/testing/suites";
import { expect, test } from "vitest";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";

/** Journals with one bug each. The suite must find all of them, or it proves nothing about those it passes. */
const BUGS: Readonly<Record<string, new (setup: JournalSetup) => Journal>> = {
  "claims do not lapse": class extends MemoryJournal {
    constructor() {
      super({ clock: { now: () => 0 } });
    }
  },
  "anybody gets the claim": class extends MemoryJournal {
    override claim(run: RunId, _owner: string, ttl: number) {
      return super.claim(run, "everybody", ttl);
    }
  },
  "renewing makes a new epoch": class extends MemoryJournal {
    override claim(run: RunId, owner: string, ttl: number) {
      const claim = super.claim(run, owner, ttl);
      if (claim !== null) super.release(run, claim.epoch);
      return super.claim(run, owner, ttl);
    }
  },
  "the epoch is not compared": class extends MemoryJournal {
    private readonly newest = new Map<RunId, number>();
    override claim(run: RunId, owner: string, ttl: number) {
      const claim = super.claim(run, owner, ttl);
      if (claim !== null) this.newest.set(run, claim.epoch);
      return claim;
    }
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      super.append(run, this.newest.get(run) ?? epoch, entries);
    }
  },
  "a stale release frees the claim": class extends MemoryJournal {
    override release(run: RunId, epoch: number) {
      super.release(run, epoch);
      super.release(run, epoch + 1);
    }
  },
  "abandoning takes what was posted": class extends MemoryJournal {
    override abandon(run: RunId, epoch: number) {
      const before = super.list().length;
      super.abandon(run, epoch);
      if (super.list().length < before) super.delete(run);
    }
  },
  "abandoning only releases": class extends MemoryJournal {
    override abandon(run: RunId, epoch: number) {
      if (super.load(run).length === 0) super.release(run, epoch);
    }
  },
  "abandoning takes entries": class extends MemoryJournal {
    override abandon(run: RunId, epoch: number) {
      if (super.load(run).length > 0) super.delete(run);
      else super.abandon(run, epoch);
    }
  },
  "a stale epoch abandons": class extends MemoryJournal {
    override abandon(run: RunId, epoch: number) {
      super.abandon(run, epoch);
      super.abandon(run, epoch + 1);
    }
  },
  "an append is written in part": class extends MemoryJournal {
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      for (const entry of entries) super.append(run, epoch, [entry]);
      super.append(run, epoch, []);
    }
  },
  "a doubled entry is dropped in silence": class extends MemoryJournal {
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      try {
        super.append(run, epoch, entries);
      } catch (error) {
        if ((error as { code?: unknown }).code !== "INVALID_VALUE") throw error;
      }
    }
  },
  "the phase is not part of the identity": class extends MemoryJournal {
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      super.append(
        run,
        epoch,
        entries.map((entry) => ({ ...entry, phase: "note" }) as const),
      );
    }
  },
  "numbers count from 0": class extends MemoryJournal {
    override load(run: RunId) {
      return super.load(run).map((record): JournalRecord => ({ ...record, seq: record.seq - 1 }));
    }
  },
  "entries are kept as they were given": class extends MemoryJournal {
    private readonly given = new Map<RunId, JournalEntry[]>();
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      super.append(run, epoch, entries);
      this.given.set(run, [...(this.given.get(run) ?? []), ...entries]);
    }
    override load(run: RunId) {
      return super.load(run).map((record) => ({ ...record, ...this.given.get(run)?.[record.seq - 1] }));
    }
  },
  "items are not deduped": class extends MemoryJournal {
    private count = 0;
    override post(run: RunId, item: PostedItem) {
      super.post(run, { ...item, id: `${item.id}\u2063${this.count++}` });
    }
    override items(run: RunId, after: number) {
      return super
        .items(run, after)
        .map((item): PostedRecord => ({ ...item, id: item.id.split("\u2063")[0] ?? "" }));
    }
  },
  "items are read from the wrong place": class extends MemoryJournal {
    override items(run: RunId, after: number) {
      return super.items(run, Math.max(0, after - 1));
    }
  },
  "ids differ by case only in vain": class extends MemoryJournal {
    override claim(run: RunId, owner: string, ttl: number) {
      return super.claim(run.toLowerCase() as RunId, owner, ttl);
    }
    override load(run: RunId) {
      return super.load(run.toLowerCase() as RunId);
    }
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      super.append(run.toLowerCase() as RunId, epoch, entries);
    }
  },
  "a deleted run leaves its items": class extends MemoryJournal {
    override delete(run: RunId) {
      const items = this.items(run, 0);
      super.delete(run);
      for (const item of items) super.post(run, item);
    }
  },
  "epochs begin anew after a deletion": class extends MemoryJournal {
    override delete(run: RunId) {
      super.delete(run);
      Reflect.set(this, "epochFloor", 0);
    }
  },
  "a child's note speaks for the run": class extends MemoryJournal {
    override append(run: RunId, epoch: number, entries: readonly JournalEntry[]) {
      super.append(run, epoch, entries);
      for (const { body } of entries) {
        if (body["status"] === "failed") Reflect.set(Reflect.get(this, "runs").get(run), "status", "failed");
      }
    }
  },
};

const PATIENCE = { timeout: process.env["RAVI_LONG"] ? 900_000 : 60_000 };

test.each(Object.keys(BUGS))("the suite finds it when %s", PATIENCE, async (name) => {
  const Buggy = BUGS[name];
  if (Buggy === undefined) throw new Error("no such bug");
  const open = ({ clock }: JournalSetup): Journal => new Buggy({ clock });
  const found: string[] = [];
  for (const each of journalCases) {
    if (each.needs !== undefined) continue;
    await assertJournalCase(each, open).catch(() => found.push(each.says));
  }
  expect(found).not.toEqual([]);
});

test(
  "the suite finds it when a fence is not compared again after another process wrote",
  PATIENCE,
  async () => {
    const places = new WeakMap<object, string>();
    const openAt = (directory: string, { clock }: JournalSetup): Journal => {
      const journal = SqliteJournal.open(directory, { clock });
      Reflect.set(Reflect.get(journal, "runs"), "version", () => 1);
      places.set(journal, directory);
      return journal;
    };
    const suite = {
      second: (journal: Journal, setup: JournalSetup) => openAt(places.get(journal) ?? "", setup),
    };
    const found: string[] = [];
    for (const each of journalCases.filter(({ needs }) => needs === "second")) {
      const open = (setup: JournalSetup): Journal => openAt(temporaryDirectory(), setup);
      await assertJournalCase(each, open, suite).catch(() => found.push(each.says));
    }
    expect(found).toContain("a run that was taken over while we wrote to another one is fenced all the same");
  },
);

test("the suite finds nothing in a journal without a bug", PATIENCE, async () => {
  for (const each of journalCases) {
    if (each.needs !== undefined) continue;
    await expect(
      assertJournalCase(each, ({ clock }) => new MemoryJournal({ clock })),
    ).resolves.toBeUndefined();
  }
});
