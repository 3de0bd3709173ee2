import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { behavioursIn, numbersIn, readNumbers } from "../src/behaviours.ts";
import { root } from "../src/workspace.ts";

const behaviours = behavioursIn(readFileSync(join(root, "docs/behaviours.md"), "utf8"));
const numbers = readNumbers();

test("every number in the name of a test is a behaviour in docs/behaviours.md, and every behaviour has a test", () => {
  const documented = behaviours.map(({ number }) => number);
  const tested = [...new Set([...numbers.values()].flatMap((each) => [...each]))];
  expect(documented.toSorted()).toEqual(tested.toSorted());
});

test.each(behaviours)("$number is borne by every file that its row names", ({ number, files }) => {
  expect(files).not.toEqual([]);
  expect(files.filter((file) => numbers.get(file)?.has(number) !== true)).toEqual([]);
});

test("numbers are found in every form that names of tests have, and nowhere else", () => {
  const found = numbersIn(`
    test("R1: one", f); it('J2, J3: two', f); describe(\`O4 × R5: \${name}\`, f); test("× T6: nested", f);
    test("R7–R9: a range", f); test.each(kinds)("R10, %s: each", f); rule: "T11",
    test("R12 has no colon", f); // R13: a comment
  `);
  expect(found).toEqual(["R1", "J2", "J3", "O4", "R5", "T6", "R7", "R8", "R9", "R10", "T11"]);
});

test("the files of a row are its links", () => {
  expect(
    behavioursIn("| R1 | says | [a](../packages/a.test.ts), [b](../b.test.ts) |\n| T2 | says |  |\n"),
  ).toEqual([
    { number: "R1", files: ["packages/a.test.ts", "b.test.ts"] },
    { number: "T2", files: [] },
  ]);
});
