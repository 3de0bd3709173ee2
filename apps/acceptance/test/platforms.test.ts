import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { missingBinaries } from "../src/platforms.ts";
import { root } from "../src/workspace.ts";

const lockfiles = ["pnpm-lock.yaml", ...globSync("bench/peers/*/pnpm-lock.yaml", { cwd: root })];
const read = (lockfile: string): string => readFileSync(join(root, lockfile), "utf8");

describe("what is installed on another machine", () => {
  test.each(lockfiles)("%s has the binaries of every platform", (lockfile) => {
    expect(missingBinaries(read(lockfile))).toEqual([]);
  });

  test.each([
    ["@rolldown/binding-linux-arm64-gnu", "rolldown", "linux-arm64"],
    ["@turbo/darwin-arm64", "turbo", "darwin-arm64"],
  ])("a lockfile without %s is noticed", (binary, name, platform) => {
    const without = read("pnpm-lock.yaml").replaceAll(`'${binary}':`, "nothing:");
    expect(missingBinaries(without)).toEqual([expect.stringMatching(`^${name}@.*: ${platform}$`)]);
  });
});
