import { begins, type Detector, type Reader, isAlphanumeric, isDigit } from "./reader.ts";

const DOT = 0x2e;
const HYPHEN = 0x2d;
const SPACE = 0x20;

/** Letters, digits, `_` and `-`: what most keys are made of. */
function isKey(code: number): boolean {
  return isAlphanumeric(code) || code === 0x5f || code === HYPHEN;
}

/** What follows `Bearer `: also base64 and dots. */
function isToken(code: number): boolean {
  return isKey(code) || code === DOT || code === 0x7e || code === 0x2b || code === 0x2f || code === 0x3d;
}

/** How keys of common services begin, and how many characters of a key must follow at least. */
const PREFIXES: readonly (readonly [string, number])[] = [
  ["sk-", 16],
  ["sk_live_", 16],
  ["sk_test_", 16],
  ["rk_live_", 16],
  ["rk_test_", 16],
  ["pk_live_", 16],
  ["whsec_", 16],
  ["AKIA", 16],
  ["ASIA", 16],
  ["AIza", 30],
  ["ya29.", 20],
  ["ghp_", 20],
  ["gho_", 20],
  ["ghu_", 20],
  ["ghs_", 20],
  ["ghr_", 20],
  ["github_pat_", 20],
  ["glpat-", 16],
  ["npm_", 30],
  ["hf_", 24],
  ["xoxa-", 10],
  ["xoxb-", 10],
  ["xoxp-", 10],
  ["xoxr-", 10],
  ["xoxs-", 10],
  ["xapp-", 10],
  ["SG.", 20],
];

const PREFIXES_BY_CODE: ReadonlyMap<number, readonly (readonly [string, number])[]> = Map.groupBy(
  PREFIXES,
  ([prefix]) => prefix.charCodeAt(0),
);

/** Keys of common services (OpenAI, Anthropic, AWS, GitHub, Slack, Stripe, Google and others), by how they begin. */
export const apiKey: Detector = {
  kind: "SECRET",
  starts: String.fromCharCode(...PREFIXES_BY_CODE.keys()),
  startsWord: true,
  match(reader, at, before) {
    if (before === 0x5f) return 0;
    for (const [prefix, least] of PREFIXES_BY_CODE.get(reader.at(at)) ?? []) {
      if (!begins(reader, at, prefix)) continue;
      // Words with hyphens look the same (`sk-learn-based-classifiers`), but for digits and capitals.
      const isRun =
        prefix === "sk-" ? isRandomRun(reader, at + 3) : hasRun(reader, at + prefix.length, least, isKey);
      if (isRun) return prefix.length + least;
    }
    return 0;
  },
  tail: (code) => isKey(code) || code === DOT,
};

/** How far the dot after a JSON Web Token's header may be. */
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

/** `Bearer` and a token of at least 16 characters, one of them a digit. */
export const bearer: Detector = {
  kind: "SECRET",
  starts: "bB",
  startsWord: true,
  match(reader, at) {
    if (!beginsIgnoringCase(reader, at, "bearer")) return 0;
    let from = at + 6;
    while (from - at < 10 && reader.at(from) === SPACE) from++;
    if (from === at + 6 || !hasRun(reader, from, 16, isToken)) return 0;
    return hasDigit(reader, from, isToken) ? from + 16 - at : 0;
  },
  tail: isToken,
};

function beginsIgnoringCase(reader: Reader, at: number, lower: string): boolean {
  for (let index = 0; index < lower.length; index++) {
    if ((reader.at(at + index) | 0x20) !== lower.charCodeAt(index)) return false;
  }
  return true;
}

/** A digit among the first 40 characters of a run. */
function hasDigit(reader: Reader, from: number, belongs: (code: number) => boolean): boolean {
  for (let at = from; at < from + 40; at++) {
    const code = reader.at(at);
    if (isDigit(code)) return true;
    if (!belongs(code)) return false;
  }
  return false;
}

/** At least 16 characters of a key, with a digit or a capital among the first 24. */
function isRandomRun(reader: Reader, from: number): boolean {
  let isRandom = false;
  for (let length = 0; length < 24; length++) {
    const code = reader.at(from + length);
    if (!isKey(code)) return isRandom && length >= 16;
    isRandom ||= code < 0x5b && code !== HYPHEN;
    if (isRandom && length >= 15) return true;
  }
  return false;
}

function hasRun(reader: Reader, from: number, least: number, belongs: (code: number) => boolean): boolean {
  for (let at = from; at < from + least; at++) if (!belongs(reader.at(at))) return false;
  return true;
}
