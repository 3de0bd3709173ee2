import { type Detector, type Reader, DIGITS, isAlphanumeric, isDigit, isHex } from "../reader.ts";

const DOT = 0x2e;
const COLON = 0x3a;

/** Four numbers of at most 255. */
export const ipv4: Detector = {
  kind: "IP",
  starts: DIGITS,
  startsWord: true,
  match(reader, at, before) {
    if (before === DOT) return 0;
    const length = quadLength(reader, at);
    if (length === 0) return 0;
    const after = reader.at(at + length);
    // `1.2.3.4.5` is not an address.
    return isAlphanumeric(after) || (after === DOT && isDigit(reader.at(at + length + 1))) ? 0 : length;
  },
};

function quadLength(reader: Reader, from: number): number {
  let at = from;
  for (let part = 0; part < 4; part++) {
    if (part > 0 && reader.at(at++) !== DOT) return 0;
    let value = 0;
    let digits = 0;
    while (digits < 3 && isDigit(reader.at(at))) {
      value = value * 10 + reader.at(at++) - 0x30;
      digits++;
    }
    if (digits === 0 || value > 255) return 0;
  }
  return at - from;
}

/**
 * Eight groups of hexadecimal digits, or fewer with one `::`. At least four hexadecimal digits, one of them 0 to 9, so that
 * `std::add`, `a::b` and times of day do not match.
 */
export const ipv6: Detector = {
  kind: "IP",
  starts: `${DIGITS}abcdefABCDEF:`,
  startsWord: true,
  match(reader, at, before) {
    if (before === COLON || before === DOT) return 0;
    const length = groupsLength(reader, at);
    if (length === 0) return 0;
    const after = reader.at(at + length);
    return isAlphanumeric(after) || after === COLON ? 0 : length;
  },
};

function groupsLength(reader: Reader, from: number): number {
  let at = from;
  let groups = 0;
  let hexes = 0;
  let hasNumber = false;
  let isCompressed = false;
  if (reader.at(at) === COLON) {
    if (reader.at(at + 1) !== COLON) return 0;
    isCompressed = true;
    at += 2;
  }
  for (;;) {
    let width = 0;
    while (width < 4 && isHex(reader.at(at + width))) if (isDigit(reader.at(at + width++))) hasNumber = true;
    if (width === 0) break;
    // The last two groups may be written as an IPv4 address.
    const quad = groups >= 1 && groups <= 6 ? quadLength(reader, at) : 0;
    if (quad > 0) {
      groups += 2;
      hexes += 4;
      at += quad;
      break;
    }
    groups++;
    hexes += width;
    at += width;
    if (groups === 8 || reader.at(at) !== COLON) break;
    if (reader.at(at + 1) === COLON) {
      if (isCompressed) return 0;
      isCompressed = true;
      at += 2;
    } else if (isHex(reader.at(at + 1))) {
      at += 1;
    } else {
      break;
    }
  }
  const isWhole = isCompressed ? groups <= 7 : groups === 8;
  return isWhole && hexes >= 4 && hasNumber ? at - from : 0;
}
