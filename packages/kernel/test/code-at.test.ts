import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codeAt } from "@ravi/kernel/loop";

/** Loops over the characters of a text in what runs with every call. */
const LOOP = /\bfor \(|=> text\./;
const HOT = "packages/{kernel,runtime,resources,supervision,middleware}/src/**/*.ts";
const root = join(import.meta.dirname, "../../..");

describe("codeAt", () => {
  test.each(["a", "ab…", "“quoted”", "\u{1F600}", `${"x".repeat(20)}${"…".repeat(20)}`, ""])(
    "is what charCodeAt says of %j, at every place and beyond",
    (text) => {
      for (let at = -1; at <= text.length; at++) expect(codeAt(text, at)).toBe(text.charCodeAt(at));
    },
  );

  test("is what loops over characters use", () => {
    const files = globSync(HOT, { cwd: root });
    expect(files.length).toBeGreaterThan(200);
    const loops = files.flatMap((file) =>
      readFileSync(join(root, file), "utf8")
        .split("\n")
        .flatMap((line, at, lines) =>
          line.includes(".charCodeAt(at)") && LOOP.test(lines.slice(Math.max(0, at - 2), at + 1).join("\n"))
            ? [`${file}:${at + 1}`]
            : [],
        ),
    );
    expect(loops).toEqual([]);
  });
});
