import { begins, type Detector, type Reader, isAlphanumeric, isDigit, isLetter } from "./reader.ts";

const SPACE = 0x20;
const HYPHEN = 0x2d;
const BEGIN = "-----BEGIN ";
const PRIVATE_KEY = "PRIVATE KEY";

/** A PEM private key: its head, and all base64 that follows. */
export const privateKey: Detector = {
  kind: "SECRET",
  starts: "-",
  startsWord: false,
  match(reader, at) {
    if (!begins(reader, at, BEGIN)) return 0;
    const end = labelEnd(reader, at + BEGIN.length);
    return end === 0 ? 0 : headersEnd(reader, end) - at;
  },
  // Line ends may also be written out, as in JSON: \n.
  tail: (code) =>
    isAlphanumeric(code) ||
    code === 0x2b ||
    code === 0x2f ||
    code === 0x3d ||
    code === 0x0a ||
    code === 0x0d ||
    code === 0x5c,
};

/** What closes it. */
export const privateKeyEnd: Detector = {
  kind: "",
  starts: "-",
  startsWord: false,
  match(reader, at) {
    if (!begins(reader, at, "-----END ")) return 0;
    const end = labelEnd(reader, at + 9);
    return end === 0 ? 0 : end - at;
  },
};

/** After `RSA PRIVATE KEY-----` or `PGP PRIVATE KEY BLOCK-----`; 0 when it is not a private key's. */
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

/** After the lines `Proc-Type: 4,ENCRYPTED` and the like, which may stand before the key itself. */
function headersEnd(reader: Reader, from: number): number {
  let end = from;
  for (let line = 0; line < 4; line++) {
    let at = end;
    while (at - end < 4 && (reader.at(at) === 0x0a || reader.at(at) === 0x0d)) at++;
    const name = at;
    while (at - name < 20 && (isLetter(reader.at(at)) || reader.at(at) === HYPHEN)) at++;
    if (at === name || reader.at(at) !== 0x3a || reader.at(at + 1) !== SPACE) return end;
    const value = at;
    while (at - value < 100 && isHeaderValue(reader.at(at))) at++;
    end = at;
  }
  return end;
}

/** No quotes and no backslashes: the key may stand inside of a JSON text. */
const HEADER_VALUE = new Set(Array.from(" ,:()-_.~+/=<>@", (char) => char.charCodeAt(0)));

function isHeaderValue(code: number): boolean {
  return isAlphanumeric(code) || HEADER_VALUE.has(code);
}
