import { LIMITS } from "../limits.ts";

const NEWLINE = 0x0a;

/** Cuts what a process writes into lines. */
export class Lines {
  private readonly decoder = new TextDecoder();
  private pieces: Uint8Array[] = [];
  private size = 0;

  /** The lines that these bytes complete; undefined if one is too long. */
  push(bytes: Uint8Array): readonly string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      if (!this.keep(bytes.subarray(from, at))) return undefined;
      lines.push(this.take());
      from = at + 1;
    }
    return this.keep(bytes.subarray(from)) ? lines : undefined;
  }

  private keep(piece: Uint8Array): boolean {
    this.size += piece.length;
    if (piece.length > 0) this.pieces.push(piece);
    return this.size <= LIMITS.messageBytes;
  }

  private take(): string {
    let text = "";
    for (const piece of this.pieces) text += this.decoder.decode(piece, { stream: true });
    text += this.decoder.decode();
    this.pieces = [];
    this.size = 0;
    return text;
  }
}
