import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const kernel = join(import.meta.dirname, "..");
const root = join(kernel, "../..");

/** Compiles a copy of the kernel with one more file in it, by the kernel's own settings. */
async function compileWith(planted: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "ravi-kernel-"));
  try {
    await cp(join(kernel, "src"), join(folder, "src"), { recursive: true });
    await writeFile(join(folder, "src/planted.ts"), planted);
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: join(kernel, "tsconfig.build.json"),
        // The settings are the kernel's; only where they look for files is moved to the copy.
        compilerOptions: { rootDir: "src", outDir: "dist", tsBuildInfoFile: "dist/.tsbuildinfo" },
        include: ["src"],
      }),
    );
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--pretty", "false"], (_error, stdout) =>
      resolve(stdout),
    );
    return (await promise).split("\n").filter((line) => line.includes("error TS"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("the kernel compiles without Node and DOM types, so I/O does not compile in it", async () => {
  const errors = await compileWith(
    [
      'export const a = fetch("https://example.com");',
      "export const b = setTimeout(() => {}, 1);",
      'export const c = process.env["HOME"];',
      'import { readFileSync } from "node:fs";',
      "export { readFileSync };",
    ].join("\n"),
  );
  expect(errors).toHaveLength(4);
  for (const name of ["fetch", "setTimeout", "process", "node:fs"]) {
    expect(errors.filter((line) => line.includes(`'${name}'`))).toHaveLength(1);
  }
});

test("what the kernel may touch does compile", async () => {
  const innocent =
    "export const fine = [Date.now(), crypto.randomUUID(), new AbortController().signal.aborted];";
  expect(await compileWith(innocent)).toEqual([]);
});
