import type { RunId } from "@ravi/kernel";
import { nodeZlib } from "../../platform.ts";

/** What a row's checksum covers beside its run. */
export interface RowContent {
  readonly first: number;
  readonly count: number;
  /** The id of the row before it in its run; 0 for the first. */
  readonly prev: number;
  readonly data: string;
}

/** What the checksums of all rows of a run begin with. */
export function checksumSeed(runId: RunId, run: number): number {
  return nodeZlib().crc32(`${runId}\n${run} `);
}

/**
 * The CRC-32 of the text `id\nrun first count prev\ndata`, from the run's seed on. The numbers are summed up here, digit by
 * digit: as text of their own, and with another call out of JavaScript, they take 0.1 µs more, which is a third of it all.
 */
export function checksum(seed: number, { first, count, prev, data }: RowContent): number {
  let crc = withNumber(~seed, first);
  crc = withNumber(withByte(crc, SPACE), count);
  crc = withNumber(withByte(crc, SPACE), prev);
  return nodeZlib().crc32(data, ~withByte(crc, LINE_BREAK) >>> 0);
}

const SPACE = 0x20;
const LINE_BREAK = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;

/** Of each byte, as zlib computes it: the reflected polynomial of Ethernet. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ 0xedb88320;
  return crc;
});

function withByte(crc: number, byte: number): number {
  return (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
}

/** Its decimal digits. What is no whole number of that many digits is damage, and then any sum will do. */
function withNumber(crc: number, value: number): number {
  if (!Number.isSafeInteger(value)) return crc;
  let sum = value < 0 ? withByte(crc, MINUS) : crc;
  let left = Math.abs(value);
  let unit = 1;
  while (unit * 10 <= left) unit *= 10;
  for (; unit >= 1; unit /= 10) {
    const digit = Math.floor(left / unit);
    sum = withByte(sum, ZERO + digit);
    left -= digit * unit;
  }
  return sum;
}
