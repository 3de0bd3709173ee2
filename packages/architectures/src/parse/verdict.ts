import { fieldIn } from "./json.ts";

const YES = new Set([
  "true",
  "yes",
  "y",
  "1",
  "done",
  "accept",
  "accepted",
  "approved",
  "satisfied",
  "pass",
  "complete",
]);

/**
 * Whether a model said yes to one question, under one of these names. Only a clear yes is one: what cannot be read is no, so
 * that nothing passes by mistake.
 */
export function readVerdict(text: string, names: readonly string[]): boolean {
  const field = fieldIn(text, names);
  if (typeof field === "object") return false;
  if (field !== undefined) return YES.has(String(field).toLowerCase().trim());
  // Nothing but the word: "Complete", and in the next line "rewrite needed", is no yes, and neither is a question.
  return YES.has(text.toLowerCase().replaceAll(/[^\p{L}\p{N}?]/gu, ""));
}

/** A text field of a model's JSON; the whole text where there is no JSON. */
export function readText(text: string, names: readonly string[]): string {
  const field = fieldIn(text, names);
  return typeof field === "string" && field.trim() !== "" ? field : text;
}
