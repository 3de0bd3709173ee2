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
 * Whether a model answered yes, in a JSON field with one of these names or in plain text. Only a clear yes counts: an unreadable answer is
 * a no, so that nothing passes by mistake.
 */
export function readVerdict(text: string, names: readonly string[]): boolean {
  const field = fieldIn(text, names);
  if (typeof field === "object") return false;
  if (field !== undefined) return YES.has(String(field).toLowerCase().trim());
  // The text must be nothing but the word: "Complete" followed by "rewrite needed" is not a yes, and neither is a question.
  return YES.has(text.toLowerCase().replaceAll(/[^\p{L}\p{N}?]/gu, ""));
}

/** A text field of a model's JSON; the whole text if there is no such field. */
export function readText(text: string, names: readonly string[]): string {
  const field = fieldIn(text, names);
  return typeof field === "string" && field.trim() !== "" ? field : text;
}
