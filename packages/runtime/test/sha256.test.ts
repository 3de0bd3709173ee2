import { hash } from "node:crypto";
import { anyText } from "@ravi/testing/suites";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256 } from "../src/journal/parts/sha256.ts";

test("without Node, the hash of bytes is the one that Node computes, so names are the same everywhere", () => {
  // Around 56 and 64 bytes the padding needs another block, and from 8,192 on the number of bits needs a third byte.
  const lengths = [...Array.from({ length: 200 }, (_, length) => length), 8_191, 8_192, 100_000];
  for (const length of lengths) {
    const data = Uint8Array.from({ length }, (_, n) => n * 31 + length);
    expect([length, sha256(data)]).toEqual([length, hash("sha256", data)]);
  }
});

test("without Node, the hash of a text is the one that Node computes, whatever it is made of", () => {
  const text = anyText({ maxLength: 300 });
  fc.assert(fc.property(text, (data) => sha256(data) === hash("sha256", data)));
  expect(sha256("\ud800")).toBe(hash("sha256", "\ud800"));
});
