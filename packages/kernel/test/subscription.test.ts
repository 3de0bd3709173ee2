import { Subscription } from "@ravi/kernel/loop";
import { expect, onTestFinished, test, vi } from "vitest";

const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

test("J3: events are read in order, whether they came before or after somebody waited", async () => {
  const seen = new Subscription<{ n: number }>(() => {});
  seen.push({ n: 0 });
  const first = [seen.next(), seen.next(), seen.next()];
  for (const n of [1, 2, 3]) seen.push({ n });
  const rest = [seen.next(), seen.next(), seen.next()];
  seen.end();
  const read = await Promise.all([...first, ...rest, seen.next()]);
  expect(read.map(({ value, done }) => (done === true ? "end" : value.n))).toEqual([
    0,
    1,
    2,
    3,
    "end",
    "end",
    "end",
  ]);
});

test("J3: what was not read at the end can still be read, unless the reader has left", async () => {
  let left = 0;
  const seen = new Subscription<{ n: number }>(() => left++);
  for (const event of numbered(3)) seen.push(event);
  seen.end();
  for await (const { n } of seen) if (n === 1) break;
  expect([await seen.next(), left]).toEqual([{ value: undefined, done: true }, 1]);
});

test("J3: who never reads keeps only the newest events", async () => {
  const seen = new Subscription<{ n: number }>(() => {}, 3);
  for (const event of numbered(5_000)) seen.push(event);
  seen.end();
  const kept: number[] = [];
  for await (const { n } of seen) kept.push(n);
  expect(kept).toEqual([4_997, 4_998, 4_999]);
});

test("J3: a late reader of very many events causes few copies of them", async () => {
  const seen = new Subscription<{ n: number }>(() => {});
  for (const event of numbered(20_000)) seen.push(event);
  const slice = vi.spyOn(Array.prototype, "slice");
  onTestFinished(() => slice.mockRestore());
  for (let n = 0; n < 20_000; n++) await seen.next();
  const copied = slice.mock.results.reduce((sum, { value }) => sum + (value as unknown[]).length, 0);
  expect(copied).toBeLessThan(20_000);
});
