import { globSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { removeTarballs, unpackedFolderOf } from "../src/tarballs.ts";
import { readWorkspace } from "../src/workspace.ts";

// The maps that are packed hold only some of the positions that compilers write (scripts/thin-map.ts): those that are looked for here.

afterAll(removeTarballs);

const packages = readWorkspace()
  .map(({ folder }) => folder)
  .filter((folder) => folder.startsWith("packages/"));

/** Names in declarations that an editor goes to. */
const DECLARED =
  /^ *(?:export )?(?:declare )?(?:(?:abstract |static |readonly |class |interface |type |function |const )+([\w$]+)|([\w$]+)(?=\??[:(<]))/;
/** Where a stack trace says that something was called, made, thrown or waited for. */
const CALLED =
  /(?<![\w$.#"'`])(?:(?!(?:if|for|while|switch|catch|function|super)\b)[A-Za-z]\w*(?=\()|(?:throw|await)(?= ))/g;

interface Place {
  readonly word: string;
  readonly found: string;
}

/** What the source has at the place that each word of the file comes from. */
function places(
  file: string,
  words: (line: string) => readonly (readonly [column: number, word: string])[],
): Place[] {
  const map = new SourceMap(
    JSON.parse(readFileSync(`${file}.map`, "utf8")) as ConstructorParameters<typeof SourceMap>[0],
  );
  const sources = new Map<string, readonly string[]>();
  return linesOf(file).flatMap((line, at) =>
    words(line).map(([column, word]) => {
      const entry = map.findEntry(at, column);
      if (!("originalSource" in entry)) return { word, found: "no source" };
      const from = join(dirname(file), entry.originalSource);
      const source = sources.get(from) ?? linesOf(from);
      sources.set(from, source);
      const text = source[entry.originalLine] ?? "";
      return { word, found: text.slice(entry.originalColumn, entry.originalColumn + word.length) };
    }),
  );
}

/** Unless more than a tenth of them are wrong: inferred types and words in texts have no place of their own. */
function wrong(found: readonly Place[]): readonly Place[] {
  const others = found.filter((place) => place.found !== place.word);
  return others.length * 10 > found.length ? others : [];
}

function linesOf(file: string): readonly string[] {
  return readFileSync(file, "utf8").split("\n");
}

describe.each(packages)("the maps that %s packs", (folder) => {
  test("lead from each declaration to its name in the source", async () => {
    const files = globSync("dist/**/*.d.ts", { cwd: await unpackedFolderOf(folder) });
    const found = (
      await Promise.all(
        files.map(async (file) =>
          places(join(await unpackedFolderOf(folder), file), (line) => {
            const [all = "", first, second] = DECLARED.exec(line) ?? [];
            const word = first ?? second;
            return word === undefined ? [] : [[all.length - word.length, word]];
          }),
        ),
      )
    ).flat();
    expect(found.length).toBeGreaterThan(0);
    expect(wrong(found)).toEqual([]);
  });

  test("lead from each call to the same place in the source", async () => {
    const unpacked = await unpackedFolderOf(folder);
    const found = globSync("dist/**/*.js", { cwd: unpacked }).flatMap((file) =>
      places(join(unpacked, file), (line) =>
        [...line.matchAll(CALLED)].map((match) => [match.index, match[0]]),
      ),
    );
    expect(wrong(found)).toEqual([]);
  });
});
