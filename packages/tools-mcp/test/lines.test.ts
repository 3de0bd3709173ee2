import { describe, expect, test } from "vitest";
import { LIMITS } from "../src/limits.ts";
import { Lines } from "../src/stdio/lines.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("the lines of a process", () => {
  const text = '{"a":"é"}\n\n{"b":"日本 🙂"}\r\n{"c":1}\n';
  const lines = ['{"a":"é"}', "", '{"b":"日本 🙂"}\r', '{"c":1}'];

  test("are the same wherever their bytes are cut, in the middle of a character too", () => {
    const bytes = bytesOf(text);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const cut = new Lines();
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        expect(pieces.flatMap((piece) => cut.push(piece))).toEqual(lines);
      }
    }
  });

  test("a character that is never completed does not reach into the next line", () => {
    const cut = new Lines();
    expect(cut.push(Uint8Array.of(0x61, 0xe6, 0x97, 0x0a))).toEqual(["a\uFFFD"]);
    expect(cut.push(bytesOf("b\n"))).toEqual(["b"]);
  });

  test("one that is too long is refused, in one piece or in many, complete or not", () => {
    const most = new Uint8Array(LIMITS.messageBytes).fill(0x78);
    const newline = bytesOf("\n");
    const cut = new Lines();
    expect(cut.push(most)).toEqual([]);
    expect(cut.push(newline)?.map(({ length }) => length)).toEqual([LIMITS.messageBytes]);
    expect(cut.push(most)).toEqual([]);
    expect(cut.push(bytesOf("x"))).toBeUndefined();
    expect(new Lines().push(bytesOf(`${"x".repeat(LIMITS.messageBytes)}x\n`))).toBeUndefined();
  });
});
