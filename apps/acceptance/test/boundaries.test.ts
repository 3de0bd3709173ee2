import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { referenceViolations, violations } from "../src/boundaries.ts";
import { importsOf, type Member, readWorkspace, referencesOf, root } from "../src/workspace.ts";

const workspace = readWorkspace();

function member(
  folder: string,
  manifest: Omit<Member["manifest"], "name">,
  imports: readonly string[],
  path = "src/index.ts",
): Member {
  return {
    folder,
    manifest: { name: folder.replace("packages/", "@ravi/"), ...manifest },
    files: [{ path, imports }],
    references: [],
  };
}
const onKernel = { dependencies: { "@ravi/kernel": "workspace:^" } };

describe("only the kernel", () => {
  test("every package, every manifest and every import keeps the rule", () => {
    expect(workspace.map(({ manifest }) => manifest.name)).toContain("@ravi/kernel");
    expect(workspace.flatMap(({ files }) => files).length).toBeGreaterThan(50);
    expect(violations(workspace)).toEqual([]);
  });

  test("the kernel depends on nothing at all", () => {
    const kernel = workspace.find(({ folder }) => folder === "packages/kernel");
    expect(kernel?.manifest).not.toHaveProperty("dependencies");
    expect(kernel?.manifest).not.toHaveProperty("peerDependencies");
  });

  test.each<[string, Member, string]>([
    [
      "a dependency on another package",
      member("packages/hooks", { dependencies: { "@ravi/kernel": "*", "@ravi/resources": "*" } }, []),
      "@ravi/hooks depends on @ravi/resources",
    ],
    [
      "a peer dependency on another package",
      member("packages/hooks", { peerDependencies: { "@ravi/runtime": "*" } }, []),
      "@ravi/hooks depends on @ravi/runtime",
    ],
    [
      "any dependency of the kernel",
      member("packages/kernel", { dependencies: { zod: "*" } }, []),
      "@ravi/kernel depends on zod",
    ],
    [
      "the kernel's cycle through testing",
      member("packages/kernel", { devDependencies: { "@ravi/testing": "*" } }, []),
      "@ravi/kernel depends on @ravi/testing for development",
    ],
    [
      "an import without a dependency",
      member("packages/hooks", onKernel, ["@ravi/supervision"]),
      "packages/hooks/src/index.ts imports @ravi/supervision: only the kernel is allowed",
    ],
    [
      "an undeclared library",
      member("packages/hooks", onKernel, ["lodash/fp"]),
      "packages/hooks/src/index.ts imports lodash/fp: not among its dependencies",
    ],
    [
      "a path into a neighbour",
      member("packages/hooks", onKernel, ["../../kernel/src/index.ts"]),
      "packages/hooks/src/index.ts imports ../../kernel/src/index.ts: outside its package",
    ],
    [
      "I/O in the kernel",
      member("packages/kernel", {}, ["node:fs"]),
      "packages/kernel/src/index.ts imports node:fs: the kernel imports nothing",
    ],
    [
      "a test across packages",
      member("packages/hooks", onKernel, ["@ravi/resources"], "test/a.test.ts"),
      "packages/hooks/test/a.test.ts imports @ravi/resources: tests may add only testing",
    ],
  ])("%s is caught", (_, planted, message) => {
    expect(violations([...workspace, planted])).toEqual([message]);
  });

  test("compositions may know everything", () => {
    const composition = member("packages/sdk", { dependencies: { "@ravi/runtime": "*" } }, ["@ravi/runtime"]);
    expect(
      violations([composition, { ...composition, folder: "apps/x" }, { ...composition, folder: "bench" }]),
    ).toEqual([]);
  });

  test("no way of importing is overlooked", () => {
    const source = [
      'import a from "a";',
      "import type { B } from 'b';",
      'import "c";',
      'export * from "d";',
      'export { e } from "e";',
      'const f = await import("f");',
      "const g = require('g');",
      'import {\n  h,\n} from "h";',
      'type I = import("i").I;',
    ].join("\n");
    expect(importsOf(source)).toEqual(["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
  });
});

describe("references of the tsconfig files", () => {
  test("every package, app and example refers to what its manifest names, and to nothing else", () => {
    expect(workspace.flatMap(({ references }) => references).length).toBeGreaterThan(50);
    expect(referenceViolations(workspace)).toEqual([]);
  });

  test.each(["tsconfig.json", "tsconfig.foreign.json"])("%s of the root refers to every package", (file) => {
    const packages = workspace.filter(({ folder }) => folder.startsWith("packages/"));
    const names = packages.map(({ manifest }) => manifest.name);
    expect(referencesOf(readFileSync(join(root, file), "utf8")).toSorted()).toEqual(names.toSorted());
  });

  const from = "tsconfig.build.json";
  const tested = { ...onKernel, devDependencies: { "@ravi/testing": "workspace:^" } };
  test.each<[string, Member["manifest"], Member["references"], string]>([
    [
      "one that the build lacks",
      { name: "@ravi/x", ...onKernel },
      [{ from: "tsconfig.test.json", to: "@ravi/kernel" }],
      "packages/x/tsconfig.build.json does not refer to @ravi/kernel",
    ],
    [
      "one that the tests lack",
      { name: "@ravi/x", ...tested },
      [{ from, to: "@ravi/kernel" }],
      "no tsconfig of packages/x refers to @ravi/testing",
    ],
    [
      "one too many",
      { name: "@ravi/x", ...onKernel },
      [
        { from, to: "@ravi/kernel" },
        { from, to: "@ravi/hooks" },
      ],
      "packages/x refers to @ravi/hooks, which is not among its dependencies",
    ],
  ])("%s is caught", (_, manifest, references, message) => {
    expect(referenceViolations([{ folder: "packages/x", manifest, files: [], references }])).toEqual([
      message,
    ]);
  });
});
