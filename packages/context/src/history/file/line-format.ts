import { nodeModule } from "./node-module.ts";

/**
 * A file is a header line and then a line for each message, all of them JSON:
 *
 *     {"ravi":"history","v":1,"key":["session","agent",null]}
 *     {"n":1,"of":[1,2],"c":"0f3a…","m":{…}}
 *
 * `n` counts from 1; `of` is the first and the last number of the append that the line belongs to; `c` is a checksum over
 * the key, the numbers and the message as written, so a line that was changed, moved or copied from another file shows.
 */
export const FORMAT = 1;

export interface Line {
  readonly n: number;
  readonly first: number;
  readonly last: number;
  readonly message: string;
}

export function headerLine(keyText: string): string {
  return `{"ravi":"history","v":${FORMAT},"key":${keyText}}\n`;
}

export function messageLines(keyText: string, head: number, texts: readonly string[]): string {
  const of = `[${head + 1},${head + texts.length}]`;
  const lines = texts.map((text, at) => {
    const n = head + 1 + at;
    return `{"n":${n},"of":${of},"c":"${checksum(keyText, `${n},${of}`, text)}","m":${text}}\n`;
  });
  return lines.join("");
}

const FRAME = /^\{"n":(\d{1,15}),"of":\[(\d{1,15}),(\d{1,15})\],"c":"([0-9a-f]{8})","m":/;

/** The line, or undefined if it is not exactly as it was written. */
export function readLine(keyText: string, line: string): Line | undefined {
  const frame = FRAME.exec(line);
  if (frame === null || !line.endsWith("}")) return undefined;
  const [whole, n, first, last, sum] = frame;
  const message = line.slice(whole.length, -1);
  if (sum !== checksum(keyText, `${n},[${first},${last}]`, message)) return undefined;
  return { n: Number(n), first: Number(first), last: Number(last), message };
}

function checksum(keyText: string, numbers: string, text: string): string {
  const { crc32 } = nodeModule("node:zlib");
  const sum = crc32(Buffer.from(text, "utf8"), crc32(`${keyText}\n${numbers}\n`));
  return sum.toString(16).padStart(8, "0");
}
