/**
 * Run in a package's folder after `tsc` has written its declarations: writes the JavaScript, one file for each entry and
 * what entries share. Loading a file costs more than most of what is in it: the kernel in 24 files took 17 ms to import
 * on a small machine, in two files 2 ms.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { build } from "rolldown";
import { thinCodeMap, thinDeclarationMap } from "./thin-map.ts";

interface Manifest {
  name: string;
  bin?: Record<string, string>;
  exports: Record<string, string | { "@ravi/source": string; default: string }>;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

type Input = [name: string, source: string];

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
const entries = Object.values(manifest.exports).filter((entry) => typeof entry === "object");
const programs = Object.values(manifest.bin ?? {});
// A program imports its own package by name, as a user would, so that the entries share nothing with it.
const dependencies = Object.keys({
  [manifest.name]: true,
  ...manifest.dependencies,
  ...manifest.peerDependencies,
});

// What an earlier build left must not be packed.
for (const file of globSync("dist/**/*.{js,js.map}")) rmSync(file);

await build({
  input: Object.fromEntries<string>([
    ...entries.map((entry): Input => [nameOf(entry.default), entry["@ravi/source"]]),
    ...programs.map((file): Input => [nameOf(file), sourceOf(file)]),
  ]),
  platform: "neutral",
  external: (id) =>
    id.startsWith("node:") || dependencies.some((name) => id === name || id.startsWith(`${name}/`)),
  transform: { target: "es2023" },
  output: {
    dir: "dist",
    format: "esm",
    // The sources are packed beside them: inside of the maps they would be there twice, 2 MB of what the sdk brings.
    sourcemap: true,
    sourcemapExcludeSources: true,
    entryFileNames: "[name].js",
    chunkFileNames: "shared/[name].js",
    // One file for all that entries share, not one for each set of entries: a third entry must not slow the first down.
    codeSplitting: { groups: [{ name: "common", minShareCount: 2 }] },
    // What is read in a stack trace should look like what was written.
    minify: false,
    // But the comments are in the sources, which are packed too: to read them takes an eighth of the time of an import, and a
    // single sign beyond Latin-1 in one of them makes the whole file two bytes wide.
    comments: { jsdoc: false, annotation: true, legal: true },
  },
});

for (const file of globSync("dist/**/*.js.map")) rewrite(file, thinCodeMap);
for (const file of globSync("dist/**/*.d.ts.map")) {
  rewrite(file, thinDeclarationMap);
  // The compiler writes two fields that say nothing into each map, 27 bytes of each of the 310 that the sdk brings.
  rewrite(file, (map) => map.replace(`"sourceRoot":"",`, "").replace(`"names":[],`, ""));
}

function rewrite(map: string, change: (content: string, mapped: string) => string): void {
  writeFileSync(map, change(readFileSync(map, "utf8"), readFileSync(map.replace(/\.map$/, ""), "utf8")));
}

/** `./dist/ravi.js` → `./src/ravi.ts` */
function sourceOf(file: string): string {
  return file.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
}

/** `./dist/suites/index.js` → `suites/index` */
function nameOf(file: string): string {
  return file.replace(/^\.\/dist\//, "").replace(new RegExp(`${basename(file)}$`), basename(file, ".js"));
}
