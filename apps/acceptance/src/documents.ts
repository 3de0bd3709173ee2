import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./workspace.ts";

/** A code block in a document that must be a copy of a file. */
export interface Example {
  readonly document: string;
  /** The path of the file, relative to the repository's root. */
  readonly file: string;
  readonly code: string;
  /** Whether it needs a Restate server: `test:restate` runs it then. */
  readonly needsServer: boolean;
}

const BLOCK = /<!-- example( on a server)?: (\S+) -->\n+```ts\n([\s\S]*?)```/g;

/** The paths of all documents, relative to the repository's root. */
export function listDocuments(): string[] {
  const places = ["*.md", "docs/**/*.md", "{packages,apps,examples}/*/*.md", "examples/*.md", "bench/*.md"];
  return globSync(places, { cwd: root }).toSorted();
}

/** All examples of all documents. The path in a document's comment is relative to that document. */
export function readExamples(): Example[] {
  return listDocuments().flatMap((document) =>
    examplesOf(document, readFileSync(join(root, document), "utf8")),
  );
}

/** The links in a document's text that lead to files of the repository, without their anchors. */
export function fileLinksOf(text: string): string[] {
  const prose = text.replaceAll(/```[\s\S]*?```/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link.replace(/#.*/, ""))
    .filter((link) => link !== "" && !/^[a-z]+:/.test(link));
}

/** The examples in one document's text. */
export function examplesOf(document: string, text: string): Example[] {
  return [...text.matchAll(BLOCK)].map(([, onServer, file = "", code = ""]) => ({
    document,
    file: join(dirname(document), file),
    code,
    needsServer: onServer !== undefined,
  }));
}
