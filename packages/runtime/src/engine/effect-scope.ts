import {
  type EffectScope,
  isPromiseLike,
  type Ledger,
  type MaybePromise,
  type Spent,
  totalTokens,
} from "@ravi/kernel";
import type { InProcessEngine } from "./in-process.ts";
import { SPEND } from "./recording.ts";

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
      account.toolCalls += toolCalls;
      if (this.isRepeat) account.retries++;
      return;
    }
    account.charge(usage, costUsd, isWaste === true ? (costUsd ?? 0) : 0);
    if (isNested === true) return this.noteNested(usage, costUsd, isWaste === true);
    if (++this.tries === 1 && !this.isRepeat) account.modelCalls++;
    else account.retries++;
  }

  /** It was tried before, by an earlier process, and something may have gone out. */
  private get isRepeat(): boolean {
    const { key, attempt, engine } = this;
    return attempt > 1 && engine.tree.recording?.of(engine.start.execId).isRepeat(key, attempt) === true;
  }

  /** A crash before the effect's end must not lose what was paid inside of it. */
  private noteNested(usage: Spent["usage"], costUsd: number | null, isWaste: boolean): MaybePromise<void> {
    const { engine, key: of, attempt } = this;
    const { journal } = engine.tree;
    if (journal === undefined) return;
    const spend = {
      tokens: totalTokens(usage),
      cost: costUsd ?? 0,
      turns: 1,
      usage,
      priced: costUsd !== null,
      ...(isWaste && { waste: costUsd ?? 0 }),
    };
    const key = `${SPEND}${of}#${++engine.nestedCalls}`;
    const at = engine.clock.now();
    const { execId: exec } = engine.start;
    const written = journal.append([{ exec, key, attempt, phase: "note", at, body: { of, spend } }]);
    return isPromiseLike(written) ? written : undefined;
  }
}
