import { expect, test } from "vitest";
import { compare, measurePairs, median } from "../src/harness/pairs.ts";
import { figure, table } from "../src/harness/table.ts";

test("both sides are measured in turn, and every other pair begins with the other side", async () => {
  const order: string[] = [];
  const side = (name: string, value: number) => async (): Promise<number> => {
    order.push(name);
    return value;
  };
  expect(await measurePairs(3, side("ours", 2), side("base", 1))).toEqual(
    [1, 2, 3].map(() => ({ ours: 2, base: 1 })),
  );
  expect(order).toEqual(["ours", "base", "base", "ours", "ours", "base"]);
});

test("the ratio is the median of the pairs' ratios, so that one bad pair does not count", () => {
  const pairs = [
    { ours: 2, base: 1 },
    { ours: 90, base: 30 },
    { ours: 2, base: 100 },
  ];
  expect(compare(pairs)).toEqual({ ours: 2, base: 30, ratio: 2, spread: [1.01, 2.5], pairs: 3 });
});

test("the median of an even number lies between the two in the middle", () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(() => median([])).toThrow("nothing was measured");
});

test("a table has its columns under one another", () => {
  expect(
    table(
      ["what", "ms"],
      [
        ["import", figure(1.234)],
        ["run", figure(123.4)],
      ],
    ),
  ).toBe("what      ms\nimport  1.23\nrun      123");
});
