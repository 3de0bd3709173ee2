import type { ChatMessage } from "@ravi/kernel";

/** Messages that were read from a file, each with its JSON there. */
export interface ReadMessages {
  readonly messages: readonly ChatMessage[];
  readonly texts: readonly string[];
}

interface Kept extends ReadMessages {
  /** Identifies the file. */
  readonly file: string;
  readonly bytes: number;
}

/** Of the files, of all histories together. Long histories are kept until others push them out; a longer one is not kept. */
const MOST_BYTES = 16_000_000;

const NONE: ReadMessages = Object.freeze({ messages: [], texts: [] });

/**
 * The messages that were read last, so that an unchanged message is the same object each time that it is read. What others know of it,
 * such as its tokens, they know by the object: counting those of a long conversation takes thirty times as long as reading it.
 */
export class KeptMessages {
  private readonly most: number;
  /** The one that was used last is at the end. */
  private readonly files = new Map<string, Kept>();
  private bytes = 0;

  constructor(most: number = MOST_BYTES) {
    this.most = most;
  }

  of(path: string, file: string): ReadMessages {
    const kept = this.files.get(path);
    return kept?.file === file ? kept : NONE;
  }

  keep(path: string, kept: Kept): void {
    this.forget(path);
    if (kept.bytes > this.most) return;
    this.files.set(path, kept);
    this.bytes += kept.bytes;
    for (const oldest of this.files.keys()) {
      if (this.bytes <= this.most) return;
      this.forget(oldest);
    }
  }

  forget(path: string): void {
    this.bytes -= this.files.get(path)?.bytes ?? 0;
    this.files.delete(path);
  }
}
