import { expect, test } from "vitest";
import { type Journal, type JournalEntry, RunId } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { encodeEntries } from "../../src/journal/entries/entry-codec.ts";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { everything } from "./everything.ts";
import { worker } from "./worker.ts";

const RUN = RunId("run");

/** Looks at what is written down. */
function watched(): { readonly journal: Journal; readonly written: readonly JournalEntry[] } {
  const journal = new MemoryJournal();
  const written: JournalEntry[] = [];
  const append = journal.append.bind(journal);
  journal.append = (runId, epoch, entries) => {
    written.push(...entries);
    return append(runId, epoch, entries);
  };
  return { journal, written };
}

async function entriesOf(turns: number, filler: string): Promise<readonly JournalEntry[]> {
  const { journal, written } = watched();
  const { output } = await new Runtime(everything(journal)).run(worker(turns, filler), "go").result;
  expect(output).toBe("done");
  return written;
}

test("a turn writes four entries: a begin and an end for the model call, and for the tool call", async () => {
  const [few, many] = [await entriesOf(10, ""), await entriesOf(60, "")];
  expect(many.length - few.length).toBe(50 * 4);
});

test("a turn with two messages of 1 KB writes less than 3 KB, the last of 400 as little as the first", async () => {
  const turns = 400;
  const entries = await entriesOf(turns, "x".repeat(1_024));
  // The text that a journal keeps, on disk or in memory.
  const bytes = entries.map((entry) => Buffer.byteLength(encodeEntries(RUN, [entry]).text));
  const sum = (from: number, to: number): number =>
    bytes.slice(from, to).reduce((total, each) => total + each, 0);
  expect(sum(0, bytes.length) / turns).toBeLessThan(3 * 1_024);
  // In the middle of the run alone: what begins and ends it is no turn. Numbers get a digit longer, nothing else does.
  const early = sum(100, 500);
  const late = sum(1_100, 1_500);
  expect(late / early).toBeGreaterThan(0.99);
  expect(late / early).toBeLessThan(1.02);
});
