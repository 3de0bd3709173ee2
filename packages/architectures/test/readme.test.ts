import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SCENES, treeOf } from "./trees.ts";

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8");

/** The part of the README under a heading. */
function section(name: string): string {
  return readme.split(`### ${name}\n`)[1]?.split("\n### ")[0] ?? "";
}

describe("the README", () => {
  test.each(Object.keys(SCENES))("shows the events of %s as they are", async (name) => {
    expect(section(name)).toContain(`\`\`\`text\n${await treeOf(name)}\n\`\`\``);
  });

  test.each(Object.keys(SCENES))("says when to use %s and what it costs", (name) => {
    expect(section(name)).toContain("**Use it**");
    expect(section(name)).toContain("**Calls**");
    expect(readme).toMatch(new RegExp(`^\\| \\[?\`?${name}`, "m"));
  });
});
