import type { Numbering, Redaction } from "./redactor.ts";

/** A text that is JSON, as the result of every tool that gives an object is, stays JSON: also where a number is taken out. */
export function cleanText(text: string, redaction: Redaction, numbering: Numbering): string {
  const clean = redaction.whole(text, numbering);
  if (clean === text || !isJsonText(text)) return clean;
  // What an own text finds across the marks of the format has to go all the same.
  return redaction.whole(redaction.whole(text, numbering, true), numbering);
}

function isJsonText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
