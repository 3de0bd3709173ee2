import { RunId } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { describeJournal } from "@ravi/testing/suites";
import { expect, test } from "vitest";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { SqliteJournal } from "../../src/journal/sqlite-journal.ts";
import { temporaryDirectory } from "./helpers/directory.ts";

describeJournal("MemoryJournal", ({ clock }) => new MemoryJournal({ clock }), {
  waits: true,
  scopes: true,
  reasons: true,
});

const places = new WeakMap<object, string>();

function openAt(directory: string, clock: { now(): number }): SqliteJournal {
  const journal = SqliteJournal.open(directory, { clock });
  places.set(journal, directory);
  return journal;
}

describeJournal("SqliteJournal", ({ clock }) => openAt(temporaryDirectory(), clock), {
  waits: true,
  scopes: true,
  reasons: true,
  second: (journal, { clock }) => openAt(places.get(journal) ?? "", clock),
  async reopen(journal, { clock }) {
    await journal.close();
    return openAt(places.get(journal) ?? "", clock);
  },
});

test.each([
  ["MemoryJournal", (clock: { now(): number }) => new MemoryJournal({ clock })],
  ["SqliteJournal", (clock: { now(): number }) => openAt(temporaryDirectory(), clock)],
] as const)("R24: %s says until when a claim was held that it takes from somebody", async (_, open) => {
  const clock = virtualClock({ now: 1_000 });
  const journal = open(clock);
  await journal.claim(RunId("r"), "one", 500);
  await clock.advance(300);
  await journal.claim(RunId("r"), "one", 500);
  await clock.advance(5_000);
  expect(await journal.claim(RunId("r"), "two", 500)).toEqual({ epoch: 2, lapsedAt: 1_800 });
  await journal.close();
});
