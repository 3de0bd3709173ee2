import { tryParse } from "@ravi/kernel/provider";
import type { Numbering, Redaction } from "../redactor.ts";

/**
 * Cleans a text. If it is JSON, as the result of every tool that returns an object is, it stays JSON, even if a number is
 * removed.
 */
export function cleanText(text: string, redaction: Redaction, numbering: Numbering): string {
  const clean = redaction.whole(text, numbering);
  if (clean === text || !isJsonText(text)) return clean;
  // A user's pattern may match across JSON's quotes and commas. That has to be removed as well.
  return redaction.whole(redaction.whole(text, numbering, true), numbering);
}

function isJsonText(text: string): boolean {
  return /^\s*[[{]/.test(text) && tryParse(text) !== undefined;
}
