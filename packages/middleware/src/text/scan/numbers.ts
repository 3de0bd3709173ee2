import { type Detector, type Reader, DIGITS, isAlphanumeric, isDigit, isLetter, LETTERS } from "../reader.ts";

const SPACE = 0x20;
const HYPHEN = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;
const PLUS = 0x2b;
const OPEN = 0x28;
const CLOSE = 0x29;
const ZERO = 0x30;

/** A payment card: 13 to 19 digits, grouped or not, with a valid check digit (Luhn). The longest match counts. */
export const card: Detector = {
  kind: "CARD",
  // The digits that cards begin with. Ids and timestamps in milliseconds mostly begin with others.
  starts: "23456",
  startsWord: true,
  match(reader, at, before) {
    if (before === DOT) return 0;
    let best = 0;
    let digits = 0;
    let separator: number | undefined;
    // Luhn sums from the left for both parities, since the number of digits is not known yet.
    const sums: [number, number] = [0, 0];
    for (let end = at; digits < 19; end++) {
      const code = reader.at(end);
      if (!isDigit(code)) {
        // The first group has four digits, and all groups are separated by the same character.
        if ((code !== SPACE && code !== HYPHEN) || !isDigit(reader.at(end + 1))) break;
        if (separator === undefined ? digits !== 4 : code !== separator) break;
        separator = code;
        continue;
      }
      addLuhn(sums, digits, code - 0x30);
      digits++;
      if (digits >= 13 && sums[digits % 2 === 0 ? 0 : 1] % 10 === 0 && !isAlphanumeric(reader.at(end + 1)))
        best = end + 1 - at;
    }
    return best;
  },
};

/** `sums[0]` is valid for an even number of digits, where digits at even indexes count double; `sums[1]` for an odd number. */
function addLuhn(sums: [number, number], place: number, digit: number): void {
  const doubled = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
  sums[0] += place % 2 === 0 ? doubled : digit;
  sums[1] += place % 2 === 0 ? digit : doubled;
}

/**
 * A telephone number that is written as one: with a plus (or 00) and a country code, as (415) 555-2671 or 415-555-2671, or with a leading
 * zero and groups. Plain digits are ignored: they are far more often ids and amounts.
 */
export const phone: Detector = {
  kind: "PHONE",
  starts: `${DIGITS}+(`,
  startsWord: true,
  match(reader, at, before) {
    if (before === DOT || before === PLUS || before === HYPHEN) return 0;
    const first = reader.at(at);
    if (first === PLUS) return international(reader, at, 1);
    if (first === ZERO && reader.at(at + 1) === ZERO)
      return international(reader, at, 2) || national(reader, at);
    return first === ZERO ? national(reader, at) : northAmerican(reader, at);
  },
};

/** `+49 171 1234567`, `0049 171 1234567`: a prefix of this length, and 8 to 15 digits. After zeros they must be in groups. */
function international(reader: Reader, at: number, prefix: number): number {
  const from = at + prefix;
  let digits = 0;
  let end = from;
  let gap = 0;
  for (let look = from; gap < 3 && digits <= 15; look++) {
    const code = reader.at(look);
    if (isDigit(code)) {
      digits++;
      gap = 0;
      end = look + 1;
    } else if (separates(code) || code === SLASH || code === OPEN || code === CLOSE) {
      if (++gap > 2) break;
    } else {
      break;
    }
  }
  const isWritten = prefix === 1 || end - from > digits;
  return isWritten && digits >= 8 && digits <= 15 && !isLetter(reader.at(end)) ? end - at : 0;
}

/** `020 7946 0958`, `0171/1234567`: 9 to 11 digits in at least two groups. */
function national(reader: Reader, at: number): number {
  let best = 0;
  let digits = 0;
  let groups = 1;
  let inGroup = 0;
  for (let look = at; ; look++) {
    const code = reader.at(look);
    if (isDigit(code)) {
      inGroup++;
      if (++digits > 11) return best;
      continue;
    }
    if (groups >= 2 && digits >= 9 && !isLetter(code)) best = look - at;
    const isGap = code === SPACE || code === HYPHEN || code === SLASH;
    // The first group has three to five digits; two would be a day, a month or an hour.
    const isGroup = groups === 1 ? inGroup >= 3 && inGroup <= 5 : inGroup >= 2;
    if (!isGap || !isGroup || !isDigit(reader.at(look + 1))) return best;
    groups++;
    inGroup = 0;
  }
}

/** `(415) 555-2671`, `415-555-2671`, `1-415-555-2671`. */
function northAmerican(reader: Reader, from: number): number {
  let at = from;
  if (reader.at(at) === 0x31 && separates(reader.at(at + 1))) at += 2;
  const isBracketed = reader.at(at) === OPEN;
  if (isBracketed) at++;
  const area = reader.at(at);
  if (area < 0x32 || !isDigits(reader, at, 3)) return 0;
  at += 3;
  if (isBracketed) {
    if (reader.at(at) !== CLOSE) return 0;
    at++;
    if (separates(reader.at(at))) at++;
  } else if (!separates(reader.at(at++))) {
    return 0;
  }
  if (!isDigits(reader, at, 3) || !separates(reader.at(at + 3)) || !isDigits(reader, at + 4, 4)) return 0;
  return isAlphanumeric(reader.at(at + 8)) ? 0 : at + 8 - from;
}

function separates(code: number): boolean {
  return code === SPACE || code === HYPHEN || code === DOT;
}

function isDigits(reader: Reader, at: number, count: number): boolean {
  for (let index = 0; index < count; index++) if (!isDigit(reader.at(at + index))) return false;
  return true;
}

/** A bank account number (IBAN) with a known country, its length and a valid checksum (mod 97), grouped or not. */
export const iban: Detector = {
  kind: "IBAN",
  starts: LETTERS,
  startsWord: true,
  match(reader, at) {
    if (!isLetter(reader.at(at + 1)) || !isDigits(reader, at + 2, 2)) return 0;
    const country = String.fromCharCode(reader.at(at), reader.at(at + 1)).toUpperCase();
    const length = IBAN_LENGTHS.get(country);
    if (length === undefined) return 0;
    let text = "";
    let end = at;
    for (; text.length < length; end++) {
      const code = reader.at(end);
      if (isAlphanumeric(code)) text += String.fromCharCode(code);
      else if ((code !== SPACE && code !== HYPHEN) || !isAlphanumeric(reader.at(end + 1))) return 0;
    }
    return !isAlphanumeric(reader.at(end)) && isMod97(text) ? end - at : 0;
  },
};

function isMod97(text: string): boolean {
  let rest = 0;
  for (let index = 0; index < text.length; index++) {
    const value = Number.parseInt(text.charAt((index + 4) % text.length), 36);
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97;
  }
  return rest === 1;
}

/** The length of an IBAN by country, from the IBAN registry. */
const IBAN_LENGTHS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
  }).flatMap(([length, countries]) =>
    countries.split(" ").map((country): [string, number] => [country, Number(length)]),
  ),
);
