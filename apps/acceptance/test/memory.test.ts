import { join } from "node:path";
import { expect, test } from "vitest";
import { sh } from "../src/shell.ts";

const program = join(import.meta.dirname, "../src/memory.ts");

async function heapDuring(what: "turns" | "children" | "runs"): Promise<number[]> {
  // On one thread, as a compiler that works on another holds up to 1 MB of the heap at whichever look it is caught.
  const flags = ["--conditions=@ravi/source", "--expose-gc", "--single-threaded", "--max-old-space-size=512"];
  const { stdout, stderr, code } = await sh(process.execPath, [...flags, program, what]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as number[];
}

test("T17: ten thousand turns with compaction stay flat under a heap of 512 MB", async () => {
  const kilobytes = await heapDuring("turns");
  expect(kilobytes).toHaveLength(5);
  // 8,000 turns between the first look and the last, of two messages of 1 kB each: kept, they would be 7 MB more.
  expect(Number(kilobytes.at(-1)) - Number(kilobytes[0])).toBeLessThan(2_000);
});

test("T17: a thousand finished helpers keep nothing but who they were and what they used", async () => {
  const kilobytes = await heapDuring("children");
  expect(kilobytes).toHaveLength(5);
  // 800 helpers between the first look and the last, each with an input of 10 kB: kept, they would be 8 MB more.
  expect(Number(kilobytes.at(-1)) - Number(kilobytes[0])).toBeLessThan(1_500);
});

test("T17: of runs that are over, young collections leave nothing for the next full one", async () => {
  const kilobytes = await heapDuring("runs");
  expect(kilobytes).toHaveLength(5);
  // 800 runs between the third look and the last, when all is compiled: kept, they would be 7 MB more.
  expect(Number(kilobytes.at(-1)) - Number(kilobytes[2])).toBeLessThan(2_000);
});
