import type {
  Clock,
  Journal,
  JournalWatch,
  JsonValue,
  PendingWait,
  PostedItem,
  PostedRecord,
  RunId,
  TimerHandle,
} from "@ravi/kernel";
import { cancelReasonIn } from "../journal/facts/reasons.ts";
import { addTo } from "./add-to.ts";

const POLL_MS = 250;
const NOTHING_TO_READ = Promise.resolve();

/** The run that gets what is delivered. */
export interface SignalTarget {
  readonly runId: RunId;
  readonly clock: Clock;
  /** The journal through which other processes deliver. */
  readonly store: Journal | undefined;
  cancelledFromOutside(reason: string): void;
  /** Passes a message on to an agent of the run. */
  deliver(item: PostedItem): void;
  /** Called if the journal cannot be read: then nothing from outside reaches the run. */
  postsUnreadable(error: unknown): void;
  /** Is told of each wait: that it has begun, is answered, or was given up. */
  readonly waits: {
    begin(wait: PendingWait): void;
    end(wait: PendingWait): void;
    leave(wait: PendingWait): void;
  };
}

interface Waiter {
  readonly wait: PendingWait;
  readonly resolve: (answer: Answer) => void;
}

/** A value that was delivered, with the id of its delivery. */
export type Answer = { readonly id: string; readonly value: JsonValue };

/** One that nobody has waited for yet, with its number in the journal, if it was read there. */
interface EarlyAnswer {
  readonly answer: Answer;
  readonly seq: number;
}

/**
 * Receives what comes from outside the run. Answers are kept by name until somebody waits for them. Another process delivers through the
 * journal, which reports it if it can be watched, and is otherwise polled while somebody waits.
 */
export class Signals {
  private readonly run: SignalTarget;
  // Made when they are first needed: nobody talks to most runs.
  private early: Map<string, EarlyAnswer[]> | undefined;
  private waiting: Map<string, Waiter[]> | undefined;
  private seen: Set<string> | undefined;
  /** Executions that wait for a message. */
  private listeners = 0;
  private after = 0;
  private timer: TimerHandle | undefined;
  private reading: Promise<void> | undefined;
  private isStale = false;
  /** Why the journal could not be read. There may be items that no watch reports again, so it is asked until it can. */
  private failure: { readonly error: unknown } | undefined;
  private isClosed = false;
  private readonly watch: JournalWatch | undefined;

  constructor(run: SignalTarget) {
    this.run = run;
    this.watch = run.store?.watch?.(run.runId, () => void this.readPosts());
  }

  /** Takes an item that has arrived, from this process or from the journal. The same one (by its id) counts only once. */
  accept(item: PostedItem, seq = Infinity): void {
    if (this.seen?.has(item.id) === true) return;
    this.markRead(item.id);
    if (item.kind === "cancel") this.run.cancelledFromOutside(cancelReasonIn(item.value));
    if (item.kind === "message") this.run.deliver(item);
    if (item.kind !== "signal") return;
    const queue = this.waiting?.get(item.name);
    const waiter = queue?.shift();
    if (queue?.length === 0) this.waiting?.delete(item.name);
    const answer: Answer = { id: item.id, value: item.value };
    if (waiter !== undefined) {
      this.run.waits.end(waiter.wait);
      waiter.resolve(answer);
    } else addTo((this.early ??= new Map<string, EarlyAnswer[]>()), item.name, { answer, seq });
    this.stopIfIdle();
  }

  /** Whether a value of that name is here already. */
  has(name: string): boolean {
    return this.early?.has(name) === true;
  }

  /** The next value of that wait's name, which may be here already. `leave` gives up waiting. */
  next(wait: PendingWait): { readonly value: Promise<Answer>; readonly leave: () => void } {
    const { name } = wait;
    const kept = this.early?.get(name);
    const first = kept?.shift();
    if (kept?.length === 0) this.early?.delete(name);
    if (first !== undefined) return { value: Promise.resolve(first.answer), leave: () => {} };
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const waiting = (this.waiting ??= new Map<string, Waiter[]>());
    const waiter: Waiter = { wait, resolve };
    addTo(waiting, name, waiter);
    this.run.waits.begin(wait);
    void this.readPosts();
    return {
      value: promise,
      leave: () => {
        const all = waiting.get(name) ?? [];
        const left = all.filter((other) => other !== waiter);
        if (left.length === 0) waiting.delete(name);
        else waiting.set(name, left);
        this.stopIfIdle();
        if (left.length < all.length) this.run.waits.leave(wait);
      },
    };
  }

  /** Called for an agent that waits for a message: new items are read until it calls the function that this returns. */
  listen(): () => void {
    this.listeners++;
    void this.readPosts();
    return () => {
      this.listeners--;
      this.stopIfIdle();
    };
  }

  /** Throws if what was posted could not be read when it was tried last. */
  checkRead(): void {
    if (this.failure !== undefined) throw this.failure.error;
  }

  /** Marks an item that was read before and is on record, so that it is not delivered again. */
  markRead(id: string): void {
    (this.seen ??= new Set()).add(id);
  }

  /** Whether that item has arrived here. */
  hasSeen(id: string): boolean {
    return this.seen?.has(id) === true;
  }

  /** Whether that wait is not answered yet. */
  awaits(wait: PendingWait): boolean {
    return this.waiting?.get(wait.name)?.some((waiter) => waiter.wait === wait) === true;
  }

  /** What is waited for, those of one name in the order in which they are answered. */
  get pending(): readonly PendingWait[] {
    return [...(this.waiting?.values() ?? [])].flat().map(({ wait }) => wait);
  }

  /** The names of the answers that nobody has waited for yet, of those that came after this number of the journal. */
  unclaimed(after: number): readonly string[] {
    return [...(this.early ?? [])].flatMap(([name, answers]) =>
      answers.flatMap(({ seq }) => (seq > after ? [name] : [])),
    );
  }

  /** The number of the last item that was read from the journal. */
  get heard(): number {
    return this.after;
  }

  get isWaiting(): boolean {
    return this.waiting !== undefined && this.waiting.size > 0;
  }

  close(): void {
    this.isClosed = true;
    this.failure = undefined;
    this.watch?.stop();
    this.waiting?.clear();
    this.listeners = 0;
    this.stopIfIdle();
  }

  /** Reads what was posted to the journal, in the order of posting. Resolves when everything is read. */
  readPosts(): Promise<void> {
    const { store } = this.run;
    if (store === undefined) return NOTHING_TO_READ;
    this.isStale = true;
    this.reading ??= this.readAll(store).then(() => {
      this.reading = undefined;
      // Something was posted after the last read, while this promise was about to resolve.
      if (this.isStale) return this.readPosts();
      return this.pollLater();
    });
    return this.reading;
  }

  /** Never rejects. */
  private async readAll(journal: Journal): Promise<void> {
    const { runId } = this.run;
    try {
      while (this.isStale) {
        this.isStale = false;
        const items: readonly PostedRecord[] = await journal.items(runId, this.after);
        for (const item of items) {
          this.after = Math.max(this.after, item.seq);
          this.accept(item, item.seq);
        }
      }
      this.failure = undefined;
    } catch (error) {
      if (this.failure === undefined) this.run.postsUnreadable(error);
      this.failure = this.isClosed ? undefined : { error };
    }
  }

  private pollLater(): void {
    if (this.isIdle || this.timer !== undefined) return;
    // A watch that was passed on without its `awaits` cannot keep the process alive, so the timer has to.
    if (this.failure === undefined && this.watch?.coversAll === true && this.watch.awaits !== undefined)
      return this.watch.awaits(true);
    this.timer = this.run.clock.setTimer?.(() => {
      this.timer = undefined;
      void this.readPosts();
    }, POLL_MS);
  }

  private get isIdle(): boolean {
    return !this.isWaiting && this.listeners === 0 && this.failure === undefined;
  }

  private stopIfIdle(): void {
    if (!this.isIdle) return;
    this.watch?.awaits?.(false);
    this.timer?.cancel();
    this.timer = undefined;
  }
}
