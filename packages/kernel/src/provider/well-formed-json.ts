/** Every escape of a JSON text. Matching all of them, one after the other, keeps an escaped backslash before `ud…` as it is. */
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

/**
 * Replaces unpaired surrogates in a text of `JSON.stringify`, which escapes only those. Servers refuse the whole request because of
 * one.
 */
export function wellFormedJson(json: string): string {
  return json.includes("\\ud") ? json.replaceAll(ESCAPES, repaired) : json;
}

function repaired(escape: string): string {
  return escape.startsWith("\\ud") ? "\uFFFD" : escape;
}
