import { describe, expect, test } from "vitest";
import { bytesOf, checkSize, MOST } from "../src/execution/sizes.ts";

describe("R24: what the server carries", () => {
  test("is counted in bytes, whatever its length", () => {
    expect(bytesOf("漢字")).toBe(2 * 3 + 2);
    expect(bytesOf({ a: "ü" })).toBe(10);
  });

  test("may be a result of 20 MB: it was paid for, and the server takes it", () => {
    expect(() => checkSize("the result", "x".repeat(20_000_000))).not.toThrow();
    expect(() => checkSize("the result", "x".repeat(MOST))).toThrow(/^the result is .* bytes/);
  });

  test("may be nothing at all, from code that no compiler has seen", () => {
    expect(() => checkSize("reply", undefined as never)).not.toThrow();
  });
});
