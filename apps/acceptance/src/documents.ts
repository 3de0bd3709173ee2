import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./workspace.ts";

/** A block of code in a document that is said to be a copy of a file. */
export interface Example {
  readonly document: string;
  /** Relative to the root. */
  readonly file: string;
  readonly code: string;
}

const BLOCK = /<!-- example: (\S+) -->\n+```ts\n([\s\S]*?)```/g;

/** All examples of all documents. The path in the comment is relative to its document. */
export function readExamples(): Example[] {
  const documents = globSync(["*.md", "docs/**/*.md", "{packages,apps,examples}/*/*.md", "bench/*.md"], {
    cwd: root,
  });
  return documents
    .toSorted()
    .flatMap((document) => examplesOf(document, readFileSync(join(root, document), "utf8")));
}

export function examplesOf(document: string, text: string): Example[] {
  return [...text.matchAll(BLOCK)].map(([, file = "", code = ""]) => ({
    document,
    file: join(dirname(document), file),
    code,
  }));
}
