import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./workspace.ts";

/** A code block in a document that must be a copy of a file. */
export interface Example {
  readonly document: string;
  /** The path of the file, relative to the repository's root. */
  readonly file: string;
  readonly code: string;
}

const BLOCK = /<!-- example: (\S+) -->\n+```ts\n([\s\S]*?)```/g;

/** All examples of all documents. The path in a document's comment is relative to that document. */
export function readExamples(): Example[] {
  const documents = globSync(["*.md", "docs/**/*.md", "{packages,apps,examples}/*/*.md", "bench/*.md"], {
    cwd: root,
  });
  return documents
    .toSorted()
    .flatMap((document) => examplesOf(document, readFileSync(join(root, document), "utf8")));
}

/** The examples in one document's text. */
export function examplesOf(document: string, text: string): Example[] {
  return [...text.matchAll(BLOCK)].map(([, file = "", code = ""]) => ({
    document,
    file: join(dirname(document), file),
    code,
  }));
}
