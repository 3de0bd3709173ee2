const LF = 0x0a;
const CR = 0x0d;
const ID = [0x69, 0x64];

/** Follows a stream of server-sent events, byte by byte: it may be cut anywhere. */
export class EventSize {
  /** Of the event that is not complete yet. */
  bytes = 0;
  /** Whether an event had an id: then the client may ask for the rest of the stream elsewhere. */
  hasId = false;
  private inLine = 0;
  private letters = 0;
  private afterCR = false;

  take(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.bytes++;
      const isSecondOfPair = byte === LF && this.afterCR;
      this.afterCR = byte === CR;
      if (isSecondOfPair) continue;
      if (byte === LF || byte === CR) {
        // An empty line ends an event.
        if (this.inLine === 0) this.bytes = 0;
        this.inLine = 0;
        this.letters = 0;
        continue;
      }
      if (this.letters === this.inLine && byte === ID[this.inLine]) this.letters++;
      this.inLine++;
      if (this.letters === ID.length) this.hasId = true;
    }
  }
}
