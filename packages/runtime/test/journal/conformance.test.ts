import { describeJournal } from "@ravi/testing/suites";
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
