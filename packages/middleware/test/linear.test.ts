import { describe, expect, it, vi } from "vitest";
import { ADVERSARIAL } from "./adversarial.ts";
import { readEscapes } from "../src/text/scan/escapes.ts";
import { filterWhole } from "../src/text/filter.ts";
import { lineFilter } from "../src/text/linear-pattern.ts";
import { type Detector, Reader } from "../src/text/reader.ts";
import { BUILT_IN } from "../src/text/redactor.ts";
import { createScanner } from "../src/text/scan/scanner.ts";

class CountingReader extends Reader {
  reads = 0;
  override at(index: number): number {
    this.reads++;
    return super.at(index);
  }
}

function readsOf(detectors: readonly Detector[], text: string): number {
  const reader = new CountingReader();
  filterWhole(createScanner({ detectors, replace: () => "", reader }), text);
  return reader.reads;
}

describe("T16: every built-in pattern is linear", () => {
  it.each(Object.entries(ADVERSARIAL))(
    "T16: twice as much of %s costs each pattern twice as many reads at most",
    (_what, make) => {
      const [half, whole] = [make(8_000), make(16_000)];
      for (const detector of BUILT_IN)
        expect(readsOf([detector], whole)).toBeLessThanOrEqual(readsOf([detector], half) * 2.1 + 2_000);
      expect(readsOf(BUILT_IN, whole)).toBeLessThan(whole.length * 64);
    },
  );

  it.each([
    ["backslashes", "\\".repeat(16_000)],
    ["backslashes before no escape", `${"\\".repeat(63)}x`.repeat(250)],
    ["backslashes before half an escape", `${"\\".repeat(63)}u00`.repeat(250)],
  ])("T16: each of %s is looked at a few times at most", (_what, text) => {
    const look = vi.spyOn(String.prototype, "charCodeAt");
    const view = readEscapes(text, true);
    const looks = look.mock.calls.length;
    look.mockRestore();
    expect(view.text).toBe(text);
    expect(looks).toBeLessThan(text.length * 3);
  });

  it("T16: a line of 40 million characters is cut in its parts in one go", () => {
    const line = `${"x".repeat(40_000_000)}\n`;
    expect(
      filterWhole(
        lineFilter((part) => part),
        line,
      ),
    ).toHaveLength(line.length);
  });

  it("T16: the count bites: an e-mail pattern that looks to the end of the run fails it", () => {
    const naive: Detector = {
      kind: "EMAIL",
      starts: "a",
      startsWord: false,
      match(reader, at) {
        let end = at;
        while (reader.at(end) === 0x61) end++;
        return 0;
      },
    };
    const text = "a".repeat(2_000);
    expect(readsOf([naive], text)).toBeGreaterThan(readsOf([naive], text.slice(1_000)) * 3);
  });
});
