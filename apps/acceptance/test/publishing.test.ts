import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readWorkspace, root } from "../src/workspace.ts";

const packages = readWorkspace().filter(({ folder }) => folder.startsWith("packages/"));
const workflows = globSync(".github/workflows/*.yml", { cwd: root });

interface Changelog {
  getReleaseLine(changeset: { readonly summary: string; readonly commit: string }): Promise<string>;
  getDependencyReleaseLine(): Promise<string>;
}

describe("T19: publishing", () => {
  test.each(packages.map(({ folder, manifest }) => [folder, manifest]))(
    "T19: %s has what npm needs",
    (folder, manifest) => {
      expect(manifest).toMatchObject({
        name: folder.replace("packages/", "@ravi/"),
        license: "MIT",
        type: "module",
        sideEffects: false,
        engines: { node: ">=22.18" },
        publishConfig: { access: "public", provenance: true },
        repository: { type: "git", directory: folder },
      });
      // Folders of declarations that no entry leads to may be left out besides.
      const files = (manifest as { files?: readonly string[] }).files ?? [];
      expect(files.filter((each) => !/^!dist\/[\w/-]+$/.test(each))).toEqual([
        "dist",
        "!dist/.tsbuildinfo",
        "src",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
      ]);
      expect(manifest).toHaveProperty("description");
      const scripts = Object.keys((manifest as { scripts?: object }).scripts ?? {});
      expect(scripts.toSorted()).toEqual(["build", "test"]);
    },
  );

  test("T19: nothing that is installed comes from git, from a URL or from a folder", () => {
    for (const { folder, manifest } of packages) {
      const { dependencies, peerDependencies, optionalDependencies } = manifest;
      for (const [name, wanted] of Object.entries({
        ...dependencies,
        ...peerDependencies,
        ...optionalDependencies,
      }))
        expect(`${folder}: ${name} ${wanted}`).toMatch(
          / (?:workspace:\^|catalog:|(?:[\^~]|>=)?\d+(?:\.\d+)*)$/,
        );
    }
    const lock = readFileSync(join(root, "pnpm-lock.yaml"), "utf8");
    const resolutions = [...lock.matchAll(/resolution: (.+)/g)].map((match) => match[1]);
    expect(resolutions.length).toBeGreaterThan(100);
    for (const each of resolutions) expect(each).toMatch(/^\{integrity: sha512-[\w+/]+=*\}$/);
  });

  test("T19: all packages share one version, so nobody ends up with two kernels", () => {
    expect(new Set(packages.map(({ manifest }) => manifest.version)).size).toBe(1);
    expect(readFileSync(join(root, ".changeset/config.json"), "utf8")).toContain('"fixed": [["@ravi/*"]]');
  });

  test("T19: a changelog says what has changed, and not which commits touched what it depends on", async () => {
    expect(readFileSync(join(root, ".changeset/config.json"), "utf8")).toContain("./changelog.ts");
    const { getReleaseLine, getDependencyReleaseLine } = (await import(
      join(root, ".changeset/changelog.ts")
    )) as Changelog;
    const commit = "0123456789";
    expect(await getReleaseLine({ summary: "One thing.\n\nAnd why.\n", commit })).toBe(
      "- 0123456: One thing.\n\n  And why.",
    );
    expect(await getDependencyReleaseLine()).toBe("");
  });

  test.each(workflows)(
    "T19: every action of %s is pinned by a full hash, and only one job may ask for an identity",
    (file) => {
      const text = readFileSync(join(root, file), "utf8");
      const uses = [...text.matchAll(/uses: (\S+)/g)].map((match) => match[1]);
      expect(uses.length).toBeGreaterThan(0);
      for (const action of uses) expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40}$/);
      expect(text.match(/id-token: write/g)?.length ?? 0).toBe(file.endsWith("release.yml") ? 1 : 0);
      expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
      expect(text).not.toMatch(/^\s+cache:/m);
      // Publishing is trusted by where it comes from: a token could be stolen.
      expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|_authToken/);
    },
  );

  test("T19: whatever publishes runs the very pnpm that package.json names", () => {
    const manifest = readFileSync(join(root, "package.json"), "utf8");
    const pinned = /"packageManager": "(pnpm@[\d.]+)"/.exec(manifest)?.[1];
    const texts = workflows.map((file) => readFileSync(join(root, file), "utf8"));
    const named = texts.flatMap((text) => text.match(/pnpm@[\w.]+/g) ?? []);
    expect(named.length).toBeGreaterThan(0);
    expect(new Set(named)).toEqual(new Set([pinned]));
  });

  test("no `any` stands in the public types", () => {
    for (const { folder } of packages) {
      const declarations = globSync("dist/**/*.d.ts", { cwd: join(root, folder) });
      expect({ folder, built: declarations.length > 0 }).toEqual({ folder, built: true });
      for (const file of declarations) {
        const text = readFileSync(join(root, folder, file), "utf8").replaceAll(
          /\/\*[\s\S]*?\*\/|\/\/.*/g,
          "",
        );
        expect({ file: `${folder}/${file}`, any: /[:<|&(,=]\s*any\b/.test(text) }).toEqual({
          file: `${folder}/${file}`,
          any: false,
        });
      }
    }
  });
});
