import { begins, type Detector, type Reader, DIGITS, isAlphanumeric, isLetter, LETTERS } from "../reader.ts";

/** The longest local part and domain that RFC 5321 allows. */
const MAX_LOCAL = 64;
const MAX_DOMAIN = 253;
const AT = 0x40;
const ENCODED_AT = "%40";
const DOT = 0x2e;
const HYPHEN = 0x2d;

/**
 * Letters beyond ASCII in which addresses are written: Latin (`müller@example.com`), Greek, Cyrillic, and their accents. Others
 * may stand directly before or after an address, as in Chinese.
 */
const WIDE = [
  ...codesBetween(0xc0, 0x52f).filter((code) => code !== 0xd7 && code !== 0xf7),
  ...codesBetween(0x1e00, 0x1fff),
];

const IS_WIDE = new Uint8Array(0x2000);
for (const code of WIDE) IS_WIDE[code] = 1;

function codesBetween(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** `name@host.tld`, or `name%40host.tld` as in an address of the web. Of a longer run of characters, the last 64 before the @ are taken. */
export const email: Detector = {
  kind: "EMAIL",
  starts: `${LETTERS}${DIGITS}_+%${String.fromCharCode(...WIDE)}`,
  startsWord: false,
  match(reader, at) {
    let end = at;
    while (end - at < 2 * MAX_LOCAL && isLocal(reader.at(end)) && !begins(reader, end, ENCODED_AT)) end++;
    const run = end - at;
    const sign = reader.at(end) === AT ? 1 : begins(reader, end, ENCODED_AT) ? ENCODED_AT.length : 0;
    // Every start within the same run has the same end. So a long run is read in strides, and not again from each position.
    if (sign === 0) return run < 2 * MAX_LOCAL ? -run : -MAX_LOCAL;
    if (run > MAX_LOCAL) return MAX_LOCAL - run;
    const domain = run === 0 ? 0 : domainLength(reader, end + sign);
    return domain === 0 ? -run : run + sign + domain;
  },
};

/** Letters, digits and `_%+-.'`. */
const LOCAL = new Uint8Array(128);
for (const char of `${LETTERS}${DIGITS}_%+-.'`) LOCAL[char.charCodeAt(0)] = 1;

function isLocal(code: number): boolean {
  return code < 128 ? LOCAL[code] === 1 : isWideLetter(code);
}

function isWideLetter(code: number): boolean {
  return code >= 0xc0 && code < 0x2000 && IS_WIDE[code] === 1;
}

/** The length of the longest prefix that is a host with a top-level domain. */
function domainLength(reader: Reader, from: number): number {
  let best = 0;
  let label = from;
  let labels = 0;
  for (let at = from; at - from <= MAX_DOMAIN; at++) {
    const code = reader.at(at);
    if (isAlphanumeric(code) || code === HYPHEN || isWideLetter(code)) continue;
    if (at === label || reader.at(label) === HYPHEN || reader.at(at - 1) === HYPHEN) return best;
    if (++labels >= 2 && isTopLevel(reader, label, at)) best = at - from;
    if (code !== DOT) return best;
    label = at + 1;
  }
  return best;
}

/** Letters only, or an internationalised one (`xn--p1ai`). */
function isTopLevel(reader: Reader, from: number, to: number): boolean {
  if (to - from < 2) return false;
  const isEncoded = reader.at(from + 2) === HYPHEN && reader.at(from + 3) === HYPHEN;
  for (let at = from; at < to; at++) {
    const code = reader.at(at);
    if (!isLetter(code) && !isWideLetter(code) && !isEncoded) return false;
  }
  return true;
}
