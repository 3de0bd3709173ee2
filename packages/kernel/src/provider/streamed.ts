import type { HeaderSource } from "./headers.ts";

/** How an event of a stream may begin. The last is a comment. */
const BEGINNINGS = ["data:", "event:", "error:", "id:", "retry:", ":"];

/**
 * Whether an answer is a stream, by its beginning without spaces; undefined if it is too short to say. The content type is often wrong, and
 * counts only if the text is neither a stream nor JSON.
 */
export function looksStreamed(begin: string, headers: HeaderSource, isEnded: boolean): boolean | undefined {
  if (BEGINNINGS.some((beginning) => begin.startsWith(beginning))) return true;
  if (!isEnded && BEGINNINGS.some((beginning) => beginning.startsWith(begin))) return undefined;
  return !/^[[{]/.test(begin) && /\bevent-stream\b/.test(headers.get("content-type") ?? "");
}
