import {
  begins,
  type Detector,
  type Reader,
  isAlphanumeric,
  isBase64,
  isDigit,
  isLetter,
} from "../reader.ts";

const SPACE = 0x20;
const HYPHEN = 0x2d;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BEGIN = "-----BEGIN ";
const END = "-----END ";
const PRIVATE_KEY = "PRIVATE KEY";

/** A PEM private key: its header and all base64 that follows, however its lines are indented or joined. */
export const privateKey: Detector = {
  kind: "SECRET",
  starts: "-",
  startsWord: false,
  match(reader, at) {
    if (!begins(reader, at, BEGIN)) return 0;
    const end = labelEnd(reader, at + BEGIN.length);
    return end === 0 ? 0 : headersEnd(reader, end) - at;
  },
  // Line breaks may also be written as escapes, as in JSON: `\n`.
  tail: (code) => isBase64(code) || isLineEnd(code) || code === 0x5c,
  bridge(reader, at, before) {
    const line = gapEnd(reader, at);
    if (line === at) return 0;
    const startsLine = isLineEnd(before) || hasLineEnd(reader, at, line);
    return isMoreOfKey(reader, line, startsLine) ? line - at : 0;
  },
};

/** The closing line of a PEM private key. */
export const privateKeyEnd: Detector = {
  kind: "",
  starts: "-",
  startsWord: false,
  match(reader, at) {
    if (!begins(reader, at, END)) return 0;
    const end = labelEnd(reader, at + END.length);
    return end === 0 ? 0 : end - at;
  },
};

function isLineEnd(code: number): boolean {
  return code === NEWLINE || code === RETURN;
}

/** What may be before each line of a key: indentation, or the marks of a quotation or a comment. */
const GAP = new Set(Array.from(" \t\r\n>|#*", (char) => char.charCodeAt(0)));
const MAX_GAP = 128;
/** Hardly any word is this long, and every line of a key but the last is longer. */
const KEY_LINE = 16;

function gapEnd(reader: Reader, from: number): number {
  let at = from;
  while (at - from < MAX_GAP && GAP.has(reader.at(at))) at++;
  return at;
}

function hasLineEnd(reader: Reader, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (isLineEnd(reader.at(at))) return true;
  return false;
}

/**
 * Whether more of the key follows: a long run of base64, or a short one as a last line may be, alone on its line or before the
 * closing line.
 */
function isMoreOfKey(reader: Reader, from: number, startsLine: boolean): boolean {
  let at = from;
  while (at - from < KEY_LINE && isBase64(reader.at(at))) at++;
  if (at - from === KEY_LINE) return true;
  if (at > from && startsLine && isLineEnd(reader.at(at))) return true;
  return begins(reader, gapEnd(reader, at), END);
}

/** The index after `RSA PRIVATE KEY-----` or `PGP PRIVATE KEY BLOCK-----`; 0 if it is not a private key. */
function labelEnd(reader: Reader, from: number): number {
  let label = "";
  for (let at = from; at - from < 60; at++) {
    const code = reader.at(at);
    if (code === HYPHEN) return label.includes(PRIVATE_KEY) && begins(reader, at, "-----") ? at + 5 : 0;
    if (!isLetter(code) && code !== SPACE && !isDigit(code)) return 0;
    label += String.fromCharCode(code);
  }
  return 0;
}

/** The names of headers that are recognised even if they are not on a line of their own. */
const HEADERS = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:"];

/** The index after header lines such as `Proc-Type: 4,ENCRYPTED`, which may come before the key. */
function headersEnd(reader: Reader, from: number): number {
  let end = from;
  for (let line = 0; line < 4; line++) {
    const name = gapEnd(reader, end);
    let at = name;
    while (at - name < 20 && (isLetter(reader.at(at)) || reader.at(at) === HYPHEN)) at++;
    if (at === name || reader.at(at) !== 0x3a || reader.at(at + 1) !== SPACE) return end;
    if (!hasLineEnd(reader, end, name) && !HEADERS.some((header) => begins(reader, name, header))) return end;
    const value = at;
    while (at - value < 100 && isHeaderValue(reader.at(at))) at++;
    end = at;
  }
  return end;
}

/** No quotes and no backslashes, because the key may be inside of JSON. */
const HEADER_VALUE = new Set(Array.from(" ,:()-_.~+/=<>@", (char) => char.charCodeAt(0)));

function isHeaderValue(code: number): boolean {
  return isAlphanumeric(code) || HEADER_VALUE.has(code);
}
