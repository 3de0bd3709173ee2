import type { CallNote, EffectScope, JournalEntry, Ledger, MaybePromise, Spent } from "@ravi/kernel";
import type { InProcessEngine } from "./in-process.ts";
import { spendKey } from "./recording.ts";

/** One attempt at an effect in this process. */
export class InProcessScope implements EffectScope {
  readonly attempt: number;
  private readonly engine: InProcessEngine;
  private readonly key: string;
  private tries = 0;

  constructor(engine: InProcessEngine, key: string, attempt: number) {
    this.engine = engine;
    this.key = key;
    this.attempt = attempt;
  }

  get idempotencyKey(): string {
    return `${this.engine.start.execId}:${this.key}`;
  }

  get ledger(): Ledger | undefined {
    return this.engine.ledger;
  }

  spent({ usage, costUsd, isWaste, isNested, toolCalls }: Spent): MaybePromise<void> {
    const { account } = this.engine;
    if (toolCalls !== undefined) {
      // The earlier attempt counts as the call, and is in the accounts by its begin entry.
      if (this.isRepeat) account.retries++;
      else account.toolCalls += toolCalls;
      return;
    }
    account.charge(usage, costUsd, isWaste === true ? (costUsd ?? 0) : 0);
    if (isNested === true) return;
    if (++this.tries === 1 && !this.isRepeat) account.modelCalls++;
    else account.retries++;
  }

  /** Whether an earlier process has tried it, and may have sent something. */
  private get isRepeat(): boolean {
    const { key, attempt, engine } = this;
    return attempt > 1 && engine.tree.recording?.of(engine.start.execId).isRepeat(key, attempt) === true;
  }

  standStill(): () => void {
    const { start, clock, tree } = this.engine;
    const still = { execId: start.execId, since: clock.now() };
    tree.askClocks.stand(still);
    return () => tree.askClocks.go(still);
  }

  leave(): void {
    this.engine.noteDoubt(this.key);
  }

  /** Records what is set aside and paid for inside of the effect, so that a crash before its end does not lose it. */
  note(notes: readonly CallNote[]): MaybePromise<void> {
    const { engine, attempt } = this;
    return engine.tree.journal?.append(notes.map((note) => noteEntry(engine, this.key, attempt, note)));
  }
}

function noteEntry(
  { start, clock }: InProcessEngine,
  of: string,
  attempt: number,
  note: CallNote,
): JournalEntry {
  const { call } = note;
  const phase = "spend" in note ? "end" : "reserve" in note ? "begin" : "note";
  return {
    exec: start.execId,
    key: spendKey(of, call),
    attempt,
    phase,
    at: clock.now(),
    body: { of, ...note },
  };
}
