const LF = 0x0a;
const CR = 0x0d;

/** Follows a stream of server-sent events, byte by byte: it may be cut anywhere. */
export class EventSize {
  /** Of the event that is not complete yet. */
  bytes = 0;
  private isLineEmpty = true;
  private afterCR = false;

  take(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.bytes++;
      const isSecondOfPair = byte === LF && this.afterCR;
      this.afterCR = byte === CR;
      if (isSecondOfPair) continue;
      const isEnd = byte === LF || byte === CR;
      // An empty line ends an event.
      if (isEnd && this.isLineEmpty) this.bytes = 0;
      this.isLineEmpty = isEnd;
    }
  }
}
