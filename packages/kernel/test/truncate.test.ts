import { expect, test } from "vitest";
import { textOf } from "@ravi/kernel";
import { shorten, truncateText } from "@ravi/kernel/loop";

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

const text = (given: string) => ({ type: "text", text: given }) as const;
const image = { type: "image", url: "data:image/png;base64,AAAA" } as const;

test("parts that fit are the very same parts", () => {
  const parts = [text("one"), image, text("two")];
  expect(shorten(parts, 6)).toBe(parts);
});

test("long parts get equal room, short ones and what is no text stay as they are", () => {
  const parts = [
    text("begin"),
    text("x".repeat(5_000)),
    image,
    text(""),
    text("y".repeat(2_000)),
    text("end"),
  ];
  const cut = shorten(parts, 1_000);
  expect(cut).toMatchObject([
    text("begin"),
    { text: expect.stringMatching(/^x+\n\[\.\.\. \d+ characters were cut out here; .* \.\.\.\]\nx+$/) },
    image,
    text(""),
    { text: expect.stringMatching(/^y+\n\[\.\.\. \d+ characters were cut out here; .* \.\.\.\]\ny+$/) },
    text("end"),
  ]);
  expect(textOf({ content: cut })).toHaveLength(1_000);
});

test("very many parts are cut like one text: the first and the last stay, with one notice, and no more than the limit", () => {
  const parts = Array.from({ length: 5_000 }, (_, n) => text(`[result ${n}]`));
  const cut = shorten(parts, 300);
  expect(cut.at(0)).toEqual(text("[result 0]"));
  expect(cut.at(-1)).toEqual(text("[result 4999]"));
  expect(textOf({ content: cut })).toHaveLength(300);
});

test("there is one notice, also where the cut begins between two of very many parts", () => {
  const parts = ["x", "y", "z"].map((each) => text(each.repeat(7)));
  expect(shorten(parts, 13, () => "...")).toEqual([text("xxxxxxx"), text("..."), text("zzz")]);
});

test("if only the notice fits, it is all that is left of the text", () => {
  const notice = (missing: number): string => `(${missing} less)`;
  expect(shorten([text(""), image, text("x".repeat(50)), text("y".repeat(50))], 5, notice)).toEqual([
    text(""),
    image,
    text("(100 less)"),
  ]);
});
