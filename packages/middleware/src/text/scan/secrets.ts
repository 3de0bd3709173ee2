import { KEY_SHAPES, type KeyShape } from "@ravi/kernel/loop";
import { begins, type Detector, type Reader, isAlphanumeric, isBase64, isDigit } from "../reader.ts";

const DOT = 0x2e;
const HYPHEN = 0x2d;
const SPACE = 0x20;

/** Letters, digits, `_` and `-`, which most keys consist of. */
function isKey(code: number): boolean {
  return isAlphanumeric(code) || code === 0x5f || code === HYPHEN;
}

function isUpperOrDigit(code: number): boolean {
  return isDigit(code) || (code >= 0x41 && code <= 0x5a);
}

/** Characters of a token after `Bearer `: also base64, dots and `~`. */
function isToken(code: number): boolean {
  return isKey(code) || isBase64(code) || code === DOT || code === 0x7e;
}

// Not `Map.groupBy`: this runs when the module is loaded, and a Node version that is too old should get as far as the error that
// says so.
const SHAPES_BY_CODE = new Map<number, KeyShape[]>();
for (const shape of KEY_SHAPES) {
  const code = shape.prefix.charCodeAt(0);
  const shapes = SHAPES_BY_CODE.get(code);
  if (shapes === undefined) SHAPES_BY_CODE.set(code, [shape]);
  else shapes.push(shape);
}

/** API keys of common services (OpenAI, Anthropic, AWS, GitHub, Slack, Stripe, Google and others), by their prefix. */
export const apiKey: Detector = {
  kind: "SECRET",
  starts: String.fromCharCode(...SHAPES_BY_CODE.keys()),
  startsWord: true,
  match(reader, at, before) {
    if (before === 0x5f) return 0;
    for (const { prefix, least, isWord, isUpper } of SHAPES_BY_CODE.get(reader.at(at)) ?? []) {
      if (!begins(reader, at, prefix)) continue;
      const from = at + prefix.length;
      if (!hasRun(reader, from, least, isUpper === true ? isUpperOrDigit : isKey)) continue;
      if (isWord !== true || isRandom(reader, from)) return prefix.length + least;
    }
    return 0;
  },
  tail: (code) => isKey(code) || code === DOT,
};

/** The maximum length of a JSON Web Token's header, up to the dot. */
const MAX_HEADER = 512;

/** A JSON Web Token: base64url of `{"`, and a dot before the next part. */
export const jwt: Detector = {
  kind: "SECRET",
  starts: "e",
  startsWord: true,
  match(reader, at, before) {
    if (isKey(before) || !begins(reader, at, "eyJ")) return 0;
    let end = at + 3;
    while (end - at < MAX_HEADER && isKey(reader.at(end))) end++;
    return reader.at(end) === DOT && hasRun(reader, end + 1, 4, isKey) ? end + 5 - at : 0;
  },
  tail: (code) => isKey(code) || code === DOT,
};

/** `Bearer` and a token of at least 16 characters, with a digit in it. */
export const bearer: Detector = authorization("bearer", isToken);

/** `Basic` and as much base64, with a digit in it: the word "basic" is mostly not followed by a secret. */
export const basic: Detector = authorization("basic", isBase64);

function authorization(scheme: string, belongs: (code: number) => boolean): Detector {
  const first = scheme.charAt(0);
  return {
    kind: "SECRET",
    starts: first + first.toUpperCase(),
    startsWord: true,
    match(reader, at) {
      if (!beginsIgnoringCase(reader, at, scheme)) return 0;
      const end = at + scheme.length;
      let from = end;
      while (from - end < 4 && reader.at(from) === SPACE) from++;
      if (from === end || !hasRun(reader, from, 16, belongs)) return 0;
      return hasDigit(reader, from, belongs) ? from + 16 - at : 0;
    },
    tail: belongs,
  };
}

function beginsIgnoringCase(reader: Reader, at: number, lower: string): boolean {
  for (let index = 0; index < lower.length; index++) {
    if ((reader.at(at + index) | 0x20) !== lower.charCodeAt(index)) return false;
  }
  return true;
}

/** Whether there is a digit among the first 40 characters of a run. */
function hasDigit(reader: Reader, from: number, belongs: (code: number) => boolean): boolean {
  for (let at = from; at < from + 40; at++) {
    const code = reader.at(at);
    if (isDigit(code)) return true;
    if (!belongs(code)) return false;
  }
  return false;
}

/** Whether there is a digit or a capital among the first 24 characters of a run. Hyphenated words have none. */
function isRandom(reader: Reader, from: number): boolean {
  for (let at = from; at < from + 24; at++) {
    const code = reader.at(at);
    if (!isKey(code)) return false;
    if (code < 0x5b && code !== HYPHEN) return true;
  }
  return false;
}

function hasRun(reader: Reader, from: number, least: number, belongs: (code: number) => boolean): boolean {
  for (let at = from; at < from + least; at++) if (!belongs(reader.at(at))) return false;
  return true;
}
