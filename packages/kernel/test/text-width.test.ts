import { expect, test } from "vitest";
import { padText, textWidth } from "../src/loop.ts";

test.each<[string, number]>([
  ["", 0],
  ["lead", 4],
  ["résumé", 6],
  ["re\u0301sume\u0301", 6],
  ["ёж", 2],
  ["研究员", 6],
  ["カタカナ", 8],
  ["ｶﾀｶﾅ", 4],
  ["ｌｅａｄ", 8],
  ["연구원", 6],
  ["「」", 4],
  ["🙂", 2],
  ["👩‍👩‍👧", 2],
  ["🇫🇷", 2],
  ["❤️", 2],
  ["❤", 1],
  ["└─ a…", 5],
  ["a\u200bb", 2],
])("%j takes %i columns of a terminal", (text, width) => {
  expect(textWidth(text)).toBe(width);
});

test("a text is padded to a width, and never cut", () => {
  expect(padText("研究", 6)).toBe("研究  ");
  expect(padText("研究", 6, "start")).toBe("  研究");
  expect(padText("研究员", 2)).toBe("研究员");
});
