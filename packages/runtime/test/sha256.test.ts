import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256 } from "../src/sha256.ts";

const encoding = fc.constantFrom("hex" as const, "base64url" as const);

test("without Node, the hash of bytes is the one that Node computes, so names are the same everywhere", () => {
  // Around 56 and 64 bytes, where the padding needs another block.
  const bytes = fc.uint8Array({ maxLength: 200 });
  fc.assert(fc.property(bytes, encoding, (data, how) => sha256(data, how) === hash("sha256", data, how)));
});

test("without Node, the hash of a text is the one that Node computes, whatever it is made of", () => {
  const text = fc.string({ unit: "binary", maxLength: 300 });
  fc.assert(fc.property(text, encoding, (data, how) => sha256(data, how) === hash("sha256", data, how)));
  expect(sha256("\ud800", "hex")).toBe(hash("sha256", "\ud800", "hex"));
});
