import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { examplesOf, fileLinksOf, listDocuments, readExamples } from "../src/documents.ts";
import { sh } from "../src/shell.ts";
import { readWorkspace, root } from "../src/workspace.ts";

const examples = readExamples();
const source = (file: string): string => readFileSync(join(root, file), "utf8");

describe("examples in the documents", () => {
  test.each(examples.map(({ document, file, code }) => [document, file, code]))(
    "%s shows %s as it is",
    (_, file, code) => {
      expect(code).toBe(source(file));
    },
  );

  // consumer.test.ts runs those of the packages, with the packages as they are packed.
  const isRunElsewhere = (file: string): boolean => /^packages\/[^/]+\/test\/readme\.example\.ts$/.test(file);
  const here = examples.filter(({ file, needsServer }) => !needsServer && !isRunElsewhere(file));
  test.each([...new Set(here.map(({ file }) => file))])(
    "%s runs, with the packages as they are built",
    async (file) => {
      expect(await sh(process.execPath, [join(root, file)])).toMatchObject({ stderr: "", code: 0 });
    },
  );

  test("those that need a server are run by the tests that have one", () => {
    const files = examples.filter(({ needsServer }) => needsServer).map(({ file }) => file);
    expect(files.toSorted()).toEqual(globSync("apps/restate/src/readme/*.ts", { cwd: root }).toSorted());
  });

  /** Node 22.18, the oldest that `engines` allows, cannot read it. It strips types and lowers nothing. */
  const USING = /^\s*(?:await )?using \w+ =/m;
  const copied = [...examples.map(({ file }) => file), ...globSync("examples/*/src/**/*.ts", { cwd: root })];
  test.each([...new Set(copied)])("%s has no syntax that the oldest supported Node cannot read", (file) => {
    expect(source(file)).not.toMatch(USING);
  });

  test("such syntax is noticed", () => {
    expect("{\n  using lease = acquire();\n}").toMatch(USING);
    expect("await using server = await listen();").toMatch(USING);
  });

  test("a document that drifts from its file is noticed", () => {
    const [first] = examples;
    if (first === undefined) throw new Error("there are no examples");
    const page = `<!-- example: ${first.file} -->\n\n\`\`\`ts\n${first.code.replace("import", "export")}\`\`\`\n`;
    const [drifted] = examplesOf("README.md", page);
    expect(drifted?.file).toBe(first.file);
    expect(drifted?.code).not.toBe(source(first.file));
  });

  test("no code of ours stands in a README without such a file behind it", () => {
    for (const { folder } of readWorkspace()) {
      const readme = join(folder, "README.md");
      if (!existsSync(join(root, readme))) continue;
      const blocks = source(readme).match(/```ts\n/g)?.length ?? 0;
      expect({ readme, backed: examples.filter(({ document }) => document === readme).length }).toEqual({
        readme,
        backed: blocks,
      });
    }
  });

  test("the root README and every published package have an example", () => {
    const published = readWorkspace().filter(({ folder }) => folder.startsWith("packages/"));
    const documented = new Set(examples.map(({ document }) => document));
    for (const { folder } of published) expect([...documented]).toContain(`${folder}/README.md`);
    expect([...documented]).toContain("README.md");
  });
});

test("the README shows the commands, and the CI runs the very same tests, in one go", () => {
  const readme = source("README.md");
  const tests = ["npx -y pnpm@12 test", "npx -y pnpm@12 test:restate"];
  for (const command of [...tests, "npx -y pnpm@12 demo"]) expect(readme).toContain(command);
  expect(source(".ci/run").trim().split("\n").at(-1)).toBe("npx -y pnpm@12 test test:restate");
  // The name of another task is one more for turbo.
  const { scripts } = JSON.parse(source("package.json")) as { scripts: Record<string, string> };
  expect(scripts["test"]).toMatch(/ turbo run [\w ]+ --/);
  expect(source("turbo.json")).toContain('"test:restate": {');
});

test("every command that a document tells to run is a script of the root", () => {
  const { scripts } = JSON.parse(source("package.json")) as { scripts: Record<string, string> };
  const commands = listDocuments().flatMap((document) =>
    [...source(document).matchAll(/npx -y pnpm@12 (?:--silent )?([a-z][\w:-]*)/g)].map(
      ([, name = ""]) => name,
    ),
  );
  expect(Object.keys({ ...scripts, exec: "", install: "" })).toEqual(expect.arrayContaining(commands));
  expect(commands).toContain("ravi");
});

test.each(listDocuments())("the links in %s lead to files that exist", (document) => {
  const links = fileLinksOf(source(document));
  expect(links.filter((link) => !existsSync(join(root, dirname(document), link)))).toEqual([]);
});

describe("llms.txt", () => {
  const links = fileLinksOf(source("llms.txt"));

  test("is what `npx -y pnpm@12 llms` writes now", async () => {
    const { stdout } = await sh(process.execPath, [join(root, "scripts/llms.ts"), "--print"]);
    expect(source("llms.txt")).toBe(stdout);
  });

  test("leads to files that exist", () => {
    expect(links.filter((link) => !existsSync(join(root, link)))).toEqual([]);
  });

  test("leads to every document and to every example; single decision records are in their index", () => {
    const isRecord = (path: string): boolean => path.startsWith("docs/decisions/0");
    const isInFolder = (path: string): boolean => path.startsWith("examples/");
    const documents = listDocuments().filter((path) => !isRecord(path) && !isInFolder(path));
    expect(links).toEqual(expect.arrayContaining(documents));
    const folders = globSync("examples/*/package.json", { cwd: root }).map((path) => dirname(path));
    const shown = links.filter(isInFolder).map((path) => path.split("/").slice(0, 2).join("/"));
    expect(shown.toSorted()).toEqual(folders.toSorted());
  });
});

test("what SECURITY.md says to hold is shown by a test, line by line", () => {
  const [, table = ""] = /## What holds\n([^]*?)\n## /.exec(source("SECURITY.md")) ?? [];
  const lines = table.match(/^\| .*$/gm)?.slice(2) ?? [];
  expect(lines.length).toBeGreaterThan(10);
  for (const line of lines) expect(fileLinksOf(line)).toContainEqual(expect.stringMatching(/\.test\.ts$/));
});

test("the index of the decision records lists each of them, in their order", () => {
  const records = globSync("docs/decisions/0*.md", { cwd: root }).map((file) => basename(file));
  const listed = source("docs/decisions/README.md").match(/(?<=^\| \[\d+\]\()[^)]+/gm);
  expect(records.length).toBeGreaterThan(0);
  expect(listed).toEqual(records.toSorted());
});
