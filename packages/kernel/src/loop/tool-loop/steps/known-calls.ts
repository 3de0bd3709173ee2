import { type Indexed, TextIndex } from "../../../core/text-index.ts";
import type { ToolMessage } from "../../../model/messages.ts";

/** What is known about one call of a tool, identified by the text of its arguments. */
export interface CallRecord extends Indexed<CallRecord> {
  failures: number;
  /** How often it returned `content` in a row. */
  repeats: number;
  content: ToolMessage["content"] | undefined;
  turn: number;
  /** The number of news (see `CallWatch`) when it was last made. */
  news: number;
  /** The record that was added after this one. */
  newer: CallRecord | undefined;
}

/** The oldest records are dropped, so that a run of ten thousand turns does not keep them all. */
const MAX_RECORDS = 256;

/** The calls of one tool. */
export class KnownCalls extends TextIndex<CallRecord> {
  private oldest: CallRecord | undefined;
  private newest: CallRecord | undefined;

  getOrAdd(text: string): CallRecord {
    const hash = this.hashOf(text);
    return this.get(text, hash) ?? this.addNew(text, hash);
  }

  private addNew(text: string, hash: number): CallRecord {
    const record: CallRecord = {
      text,
      failures: 0,
      repeats: 0,
      content: undefined,
      turn: 0,
      news: 0,
      newer: undefined,
      hash,
      alike: undefined,
    };
    if (this.newest === undefined) this.oldest = record;
    else this.newest.newer = record;
    this.newest = record;
    this.add(record);
    if (this.size > MAX_RECORDS) this.forgetOldest();
    return record;
  }

  private forgetOldest(): void {
    const { oldest } = this;
    if (oldest === undefined) return;
    this.delete(oldest);
    this.oldest = oldest.newer;
    // A dropped record must not keep later ones in memory.
    oldest.newer = undefined;
  }
}
