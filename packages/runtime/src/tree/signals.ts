import type {
  Clock,
  Journal,
  JournalWatch,
  JsonValue,
  PostedItem,
  PostedRecord,
  RunId,
  TimerHandle,
} from "@ravi/kernel";

const POLL_MS = 250;

export interface SignalsOptions {
  readonly runId: RunId;
  readonly clock: Clock;
  /** Where other processes leave what they deliver. */
  readonly journal: Journal | undefined;
  readonly onCancel: (reason: string) => void;
  /** Somebody says something to an agent of the run. */
  readonly onMessage: (item: PostedItem) => void;
  /** Looking failed: the run cannot be reached any more. */
  readonly onError: (error: unknown) => void;
}

/** What was delivered, with the id of its delivery. */
export type Answer = { readonly id: string; readonly value: JsonValue };

/**
 * What comes from outside: answers by name, kept until somebody waits for them. Another process delivers through the journal,
 * which tells of it where it can, and is otherwise looked at while somebody waits.
 */
export class Signals {
  private readonly options: SignalsOptions;
  private readonly early = new Map<string, Answer[]>();
  private readonly waiting = new Map<string, ((answer: Answer) => void)[]>();
  private readonly seen = new Set<string>();
  /** Executions that wait for a message. */
  private listeners = 0;
  private after = 0;
  private timer: TimerHandle | undefined;
  private looking: Promise<void> | undefined;
  private isStale = false;
  private readonly watch: JournalWatch | undefined;

  constructor(options: SignalsOptions) {
    this.options = options;
    this.watch = options.journal?.watch?.(options.runId, () => void this.look());
  }

  /** An item that arrived, by whatever way. The same one twice counts once. */
  accept(item: PostedItem): void {
    if (this.seen.has(item.id)) return;
    this.seen.add(item.id);
    if (item.kind === "cancel")
      this.options.onCancel(typeof item.value === "string" ? item.value : "cancelled from outside");
    if (item.kind === "message") this.options.onMessage(item);
    if (item.kind !== "signal") return;
    const queue = this.waiting.get(item.name);
    const waiter = queue?.shift();
    if (queue?.length === 0) this.waiting.delete(item.name);
    const answer: Answer = { id: item.id, value: item.value };
    if (waiter !== undefined) waiter(answer);
    else this.early.set(item.name, [...(this.early.get(item.name) ?? []), answer]);
    this.stopIfIdle();
  }

  /** The next value of that name, which may be here already. `leave` gives up waiting. */
  next(name: string): { readonly value: Promise<Answer>; readonly leave: () => void } {
    const kept = this.early.get(name);
    const first = kept?.shift();
    if (kept?.length === 0) this.early.delete(name);
    if (first !== undefined) return { value: Promise.resolve(first), leave: () => {} };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.waiting.set(name, [...(this.waiting.get(name) ?? []), resolve]);
    void this.look();
    return {
      value: promise,
      leave: () => {
        const left = (this.waiting.get(name) ?? []).filter((waiter) => waiter !== resolve);
        if (left.length === 0) this.waiting.delete(name);
        else this.waiting.set(name, left);
        this.stopIfIdle();
      },
    };
  }

  /** Somebody waits for a message: the journal is looked at until it leaves. */
  listen(): () => void {
    this.listeners++;
    void this.look();
    return () => {
      this.listeners--;
      this.stopIfIdle();
    };
  }

  /** It was read before, and is on record: it is not delivered again. */
  markRead(id: string): void {
    this.seen.add(id);
  }

  get isWaiting(): boolean {
    return this.waiting.size > 0;
  }

  close(): void {
    this.watch?.stop();
    this.waiting.clear();
    this.listeners = 0;
    this.stopIfIdle();
  }

  /** Reads what was left in the journal, in the order in which it was left. Resolves when all of it was seen. */
  look(): Promise<void> {
    this.isStale = true;
    this.looking ??= this.readAll().finally(() => {
      this.looking = undefined;
      this.lookLater();
    });
    return this.looking;
  }

  private async readAll(): Promise<void> {
    const { journal, runId } = this.options;
    if (journal === undefined) return;
    try {
      while (this.isStale) {
        this.isStale = false;
        const items: readonly PostedRecord[] = await journal.items(runId, this.after);
        for (const item of items) {
          this.after = Math.max(this.after, item.seq);
          this.accept(item);
        }
      }
    } catch (error) {
      this.options.onError(error);
    }
  }

  private lookLater(): void {
    if (this.isIdle || this.timer !== undefined || this.watch?.coversAll === true) return;
    this.timer = this.options.clock.setTimer?.(() => {
      this.timer = undefined;
      void this.look();
    }, POLL_MS);
  }

  private get isIdle(): boolean {
    return this.waiting.size === 0 && this.listeners === 0;
  }

  private stopIfIdle(): void {
    if (!this.isIdle) return;
    this.timer?.cancel();
    this.timer = undefined;
  }
}
