import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { defineTool } from "@ravi/kernel";
import * as z from "zod";
import { evaluate } from "./arithmetic.ts";

const folder = join(import.meta.dirname, "../documents");
const documents = readdirSync(folder)
  .filter((file) => file.endsWith(".md"))
  .map((file) => file.slice(0, -".md".length))
  .toSorted();

const MOST_HITS = 8;

export const search = defineTool({
  name: "search",
  description: "Finds documents by words. Gives their names, the best first.",
  input: z.object({ query: z.string().min(1) }),
  idempotent: true,
  execute({ query }) {
    const words = query.toLowerCase().match(/\p{L}+|\d+/gu) ?? [];
    const hits = documents
      .map((name) => ({ name, score: scoreOf(name, words) }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
      .slice(0, MOST_HITS);
    return hits.length === 0
      ? `nothing about ${JSON.stringify(query)}`
      : hits.map(({ name }) => name).join("\n");
  },
});

/** A word in the document's name counts ten times as much as one in its text. */
function scoreOf(name: string, words: readonly string[]): number {
  const text = readFileSync(join(folder, `${name}.md`), "utf8").toLowerCase();
  const parts = name.split("-");
  return words.reduce(
    (sum, word) => sum + (parts.includes(word) ? 10 : 0) + (text.includes(word) ? 1 : 0),
    0,
  );
}

export const read = defineTool({
  name: "read",
  description: "Reads a document by its name, as search gives it.",
  // Only listed documents can be read: a name becomes part of a path only after it was found in the list.
  input: z.object({ document: z.string().refine((name) => documents.includes(name), "no such document") }),
  idempotent: true,
  execute: ({ document }, { signal }) =>
    readFile(join(folder, `${document}.md`), { encoding: "utf8", signal }),
});

export const calculate = defineTool({
  name: "calculate",
  description: "Works out an expression of numbers with + - * / and brackets, to two decimals.",
  input: z.object({ expression: z.string().min(1).max(200) }),
  idempotent: true,
  execute: ({ expression }) => evaluate(expression).toFixed(2),
});
