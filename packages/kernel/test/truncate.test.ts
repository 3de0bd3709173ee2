import { expect, test } from "vitest";
import { truncateText } from "@ravi/kernel/loop";

test("a text that fits is the very same text", () => {
  expect(truncateText("short", 5)).toBe("short");
  expect(truncateText("", 0)).toBe("");
});

test("a long text keeps its beginning and its end, and says how much is missing", () => {
  const text = `begin ${"x".repeat(10_000)} end`;
  const cut = truncateText(text, 300);
  expect(cut.length).toBeLessThanOrEqual(300);
  expect(cut.startsWith("begin xxx")).toBe(true);
  expect(cut.endsWith("xxx end")).toBe(true);
  const [, missing] = /\[\.\.\. (\d+) characters were cut out here/.exec(cut) ?? [];
  const notice = /\n\[\.\.\. .* \.\.\.\]\n/.exec(cut)?.[0] ?? "";
  expect(cut.length - notice.length + Number(missing)).toBe(text.length);
});

test("no cut goes through a surrogate pair, wherever it falls", () => {
  for (let shift = 0; shift < 4; shift++) {
    for (let max = 90; max < 140; max++) {
      const cut = truncateText("a".repeat(shift) + "😀".repeat(500), max);
      expect(cut.isWellFormed(), `shift ${shift}, max ${max}`).toBe(true);
      expect(cut.length).toBeLessThanOrEqual(max);
    }
  }
});

test("where nothing fits but the notice, that is what is left", () => {
  expect(truncateText("x".repeat(1_000), 10)).toBe(
    "\n[... 1000 characters were cut out here; ask for less at a time to see them ...]\n",
  );
});
