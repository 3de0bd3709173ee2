import fc from "fast-check";
import { expect, test } from "vitest";
import { anyText } from "../src/suites/index.ts";

const SEED = 7;

test("a text has whole characters only, from all planes, and is as long as was asked for", () => {
  const seen = new Set<number>();
  const texts = fc.sample(anyText({ minLength: 1, maxLength: 8 }), { numRuns: 2_000, seed: SEED });
  for (const text of texts) {
    expect(text.isWellFormed()).toBe(true);
    const characters = Array.from(text);
    expect(characters.length).toBeGreaterThanOrEqual(1);
    expect(characters.length).toBeLessThanOrEqual(8);
    for (const character of characters) seen.add(character.codePointAt(0) ?? -1);
  }
  const planes = new Set([...seen].map((code) => code >> 16));
  expect([...planes].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 17 }, (_, plane) => plane));
  // The ends, which a generator must not miss, are among the first that fast-check tries.
  expect([...seen]).toEqual(expect.arrayContaining([0, 0x10_ff_ff]));
});

test("what is dangerous as a key is among them, as it is among the texts of fast-check", () => {
  const texts = fc.sample(anyText(), { numRuns: 5_000, seed: SEED });
  expect(texts.some((text) => /__proto__|constructor|toString|valueOf/.test(text))).toBe(true);
});

test("a fault is reported with the smallest text that has it", () => {
  const property = fc.property(anyText(), (text) => !text.includes("\ue000"));
  const failing = fc.property(anyText(), (text) =>
    Array.from(text).every((c) => (c.codePointAt(0) ?? 0) < 0xe0_00),
  );
  expect(fc.check(failing, { seed: SEED }).counterexample).toEqual(["\ue000"]);
  expect(fc.check(property, { seed: SEED, examples: [["ab\ue000"]] }).counterexample).toEqual(["\ue000"]);
});
