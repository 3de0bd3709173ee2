import { anyText } from "@ravi/testing/suites";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { fingerprint } from "../src/fingerprint.ts";
import { opaquePart, readOpaque } from "../src/opaque.ts";

/** As the definition of FNV-1a has it, and as it is on record. */
function byDefinition(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text, "utf8"))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash.toString(36);
}

test("a thought's fingerprint is the one on record, whatever it says", () => {
  const texts = fc.oneof(
    anyText({ maxLength: 300 }),
    fc.string({ unit: "grapheme", maxLength: 300 }),
    fc.constantFrom("", "\0", "\ud800", "\u{10ffff}"),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect(fingerprint(text)).toBe(byDefinition(text));
    }),
    { numRuns: process.env["RAVI_LONG"] ? 200_000 : 2_000 },
  );
  // Of a published table, so that both cannot be wrong together.
  expect(fingerprint("foobar")).toBe(0x85944171f73967e8n.toString(36));
});

test("it is made once for a thought, however often that goes out, and anew when its text was changed", () => {
  const part = opaquePart({ type: "thinking", thinking: "hm", signature: "s" }, "anthropic");
  if (part === undefined) throw new Error("no part");
  const block = { type: "thinking", thinking: "hm", signature: "s" };
  expect(readOpaque(part, "anthropic")?.block).toEqual(block);
  const read = vi.spyOn(Buffer, "from");
  expect(readOpaque(part, "anthropic")?.block).toEqual(block);
  expect(read).not.toHaveBeenCalled();
  read.mockRestore();
  Object.assign(part, { text: "[redacted]" });
  expect(readOpaque(part, "anthropic")?.block).toBeUndefined();
});
