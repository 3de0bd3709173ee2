import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

// The engine collects the characters of `\p{…}` whenever it reads a literal that has one, also in a function that is never called. Every
// process that imports the kernel would wait for it: a pattern from a text (`new RegExp`) costs nothing until it is made.

const src = join(import.meta.dirname, "../src");
const UNICODE_LITERAL = /[(=:,?[!&|;{}\n]\s*\/(?![*/])(?:\\.|[^/\\\n])*\\[pP]\{(?:\\.|[^/\\\n])*\//g;

const literals = (source: string): string[] => source.match(UNICODE_LITERAL) ?? [];

test("no pattern of the kernel asks for Unicode properties when its file is read", () => {
  const files = globSync("**/*.ts", { cwd: src });
  expect(files.length).toBeGreaterThan(150);
  const found = files.flatMap((file) =>
    literals(readFileSync(join(src, file), "utf8")).map((literal) => `${file}: ${literal}`),
  );
  expect(found).toEqual([]);
});

test.each([
  String.raw`const NAME = /^\P{Cc}{0,255}$/u;`,
  "const WIDE =\n  /^(?!a\\/b)[\\p{sc=Han}]/u;",
  String.raw`text.replaceAll(/\p{M}/gu, "")`,
])("%j is seen", (source) => {
  expect(literals(source)).toHaveLength(1);
});

test.each([
  String.raw`new RegExp(String.raw${"`"}\p{sc=Han}${"`"}, "u")`,
  String.raw`const a = /[a-z]/; const b = "\\p{L}";`,
])("%j is not", (source) => {
  expect(literals(source)).toEqual([]);
});
