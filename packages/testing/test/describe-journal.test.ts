import type { Journal } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import {
  assertJournalCase,
  describeJournal,
  journalCases,
  type JournalSetup,
  type JournalSuite,
} from "../src/suites/index.ts";
import { HonestJournal } from "./planted/honest-journal.ts";
import { PLANTED_JOURNALS } from "./planted/planted-journals.ts";

/** Another handle on the same store, of the same kind. */
const again =
  (Kind: new (setup: JournalSetup, store?: HonestJournal["store"]) => HonestJournal) =>
  (journal: unknown, setup: JournalSetup): HonestJournal => {
    if (!(journal instanceof HonestJournal)) throw new TypeError("a journal of these tests was expected");
    return new Kind(setup, journal.store);
  };

describeJournal("that is honest", (setup) => new HonestJournal(setup), {
  waits: true,
  scopes: true,
  reasons: true,
  second: again(HonestJournal),
  reopen: again(HonestJournal),
});

describeJournal("without a watch", (setup) => Object.assign(new HonestJournal(setup), { watch: undefined }));

describe("the suite", () => {
  for (const { says, caughtBy, Broken } of PLANTED_JOURNALS) {
    test.concurrent(`catches a journal that ${says}`, { timeout: 60_000 }, async () => {
      const found = journalCases.filter((each) => each.says.includes(caughtBy));
      expect(found.map((each) => each.says)).not.toEqual([]);
      const suite: JournalSuite = {
        second: again(Broken),
        reopen: again(Broken),
        waits: true,
        scopes: true,
        reasons: true,
      };
      for (const each of found)
        await expect(assertJournalCase(each, (setup) => new Broken(setup), suite)).rejects.toThrow(Error);
    });
  }
});

test("a store that does not get to the end of many calls is told how far it got, and how to get more time", async () => {
  const slow = (setup: JournalSetup): Journal => {
    const journal = new HonestJournal(setup);
    let calls = 0;
    const append: Journal["append"] = async (...entries) =>
      ++calls > 100 ? new Promise(() => {}) : journal.append(...entries);
    return Object.assign(Object.create(journal) as HonestJournal, { append });
  };
  const many = journalCases.find(({ says }) => says.startsWith("of many entries"));
  if (many === undefined) throw new Error("there is no such case");
  await expect(assertJournalCase(many, slow, { patienceMs: 100 })).rejects.toThrow(
    "append: 99 of 1234 calls were answered in 90 ms; if the store is slow and does not hang, give the suite a longer patienceMs",
  );
});

test("every case has a name of its own, and says which rule it belongs to", () => {
  const names = journalCases.map(({ rule, says }) => `${rule}: ${says}`);
  expect(new Set(names).size).toBe(names.length);
  expect(journalCases.filter(({ rule }) => !/^[A-Z]\d+$/.test(rule))).toEqual([]);
});

test.each<[string, string, Partial<Journal>]>([
  ["what is no entry", "append: an entry with at: NaN was accepted", { append: async () => {} }],
  ["what is no item", "post: an item with at: Infinity was accepted", { post: async () => {} }],
])("of %s it says which one was accepted", async (says, message, broken) => {
  // Refuses what it can see at a glance, and takes a time that is none.
  const careless = (setup: JournalSetup): Journal => {
    const journal = new HonestJournal(setup);
    const isTime = (at: number): boolean => Number.isFinite(at);
    const careful: Partial<Journal> = {
      append: async (run, epoch, entries) =>
        entries.every(({ at }) => isTime(at))
          ? journal.append(run, epoch, entries)
          : broken.append?.(run, epoch, entries),
      post: async (run, item) => (isTime(item.at) ? journal.post(run, item) : broken.post?.(run, item)),
    };
    return Object.assign(Object.create(journal) as HonestJournal, careful);
  };
  const found = journalCases.find((each) => each.says.startsWith(says));
  if (found === undefined) throw new Error("there is no such case");
  await expect(assertJournalCase(found, careless)).rejects.toThrow(message);
});
