/** Every escape in a JSON text, one after the other, so that a text which spells one out stays as it is. */
const ESCAPES = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;

/** A text of `JSON.stringify`, which escapes half characters only, without any: servers refuse the whole request for one. */
export function wholeCharacters(json: string): string {
  return json.includes("\\ud") ? json.replaceAll(ESCAPES, repaired) : json;
}

function repaired(escape: string): string {
  return escape.startsWith("\\ud") ? "\uFFFD" : escape;
}
