import type { ToolMessage } from "../model/messages.ts";

/** What is known of one call of a tool, by its arguments. */
export interface CallRecord {
  readonly args: string;
  failures: number;
  /** How often it gave `content` in a row. */
  repeats: number;
  content: ToolMessage["content"] | undefined;
  turn: number;
  /** The one before it, while there are few. */
  older: CallRecord | undefined;
}

/** The oldest are forgotten, so that a run of ten thousand turns does not keep them all. */
const MOST = 256;
/** So few are gone through, from the newest on: for them a map takes longer, and 0.2 kB more of every run in flight. */
const FEW = 8;

/** The calls of one tool. */
export class KnownCalls {
  private newest: CallRecord | undefined;
  private count = 0;
  private index: Map<string, CallRecord> | undefined;

  find(args: string): CallRecord | undefined {
    if (this.index !== undefined) return this.index.get(args);
    for (let record = this.newest; record !== undefined; record = record.older)
      if (record.args === args) return record;
    return undefined;
  }

  findOrAdd(args: string): CallRecord {
    return this.find(args) ?? this.add(args);
  }

  private add(args: string): CallRecord {
    if (this.count === FEW) this.index ??= this.toIndex();
    const older = this.newest;
    const record: CallRecord = { args, failures: 0, repeats: 0, content: undefined, turn: 0, older };
    if (this.index === undefined) {
      this.newest = record;
      this.count++;
    } else {
      this.index.set(args, record);
      if (this.index.size > MOST) forgetOldest(this.index);
    }
    return record;
  }

  /** In the order in which they came. From then on none leads to another. */
  private toIndex(): Map<string, CallRecord> {
    const records: CallRecord[] = [];
    for (let record = this.newest; record !== undefined; record = record.older) records.unshift(record);
    this.newest = undefined;
    for (const record of records) record.older = undefined;
    return new Map(records.map((record) => [record.args, record]));
  }
}

function forgetOldest(index: Map<string, CallRecord>): void {
  for (const oldest of index.keys()) {
    index.delete(oldest);
    return;
  }
}
