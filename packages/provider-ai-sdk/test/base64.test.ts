import { Buffer as NodeBuffer } from "node:buffer";
import { expect, onTestFinished, test, vi } from "vitest";
import { base64 } from "../src/base64.ts";

const all = Uint8Array.from({ length: 1_000 }, (_, n) => n);

test.each([0, 1, 2, 3, 255, 256, 1_000])(
  "%i bytes have the same base64 with and without Buffer",
  (length) => {
    // A part of a longer array, as what comes from a network often is.
    const bytes = all.subarray(all.length - length);
    const expected = NodeBuffer.from(bytes).toString("base64");
    expect(base64(bytes)).toBe(expected);
    vi.stubGlobal("Buffer", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(base64(bytes)).toBe(expected);
  },
);

test("a large file goes through Buffer where there is one, which takes a thousandth of the time", () => {
  const from = vi.spyOn(Buffer, "from");
  onTestFinished(() => from.mockRestore());
  base64(all);
  expect(from).toHaveBeenCalledWith(all);
});
