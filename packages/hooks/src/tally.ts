import { addUsage, type HookPayloads, NO_USAGE, type Usage } from "@ravi/kernel";
import { ExactSum } from "./common/exact-sum.ts";

/** What a group of model calls used and cost. */
export interface CostTally {
  /** Model calls that were made, including failed ones, without those replayed by a resumed run. */
  readonly calls: number;
  /** Calls among `calls` that failed. */
  readonly failedCalls: number;
  /** Calls that a resumed run reported again. They are in no other figure. */
  readonly replayedCalls: number;
  readonly usage: Usage;
  /** Dollars; null while the price of any call is unknown, since a sum without it would look complete. */
  readonly costUsd: number | null;
  /** Dollars of the calls whose price is known. */
  readonly pricedUsd: number;
  /** Calls whose price is not known. */
  readonly unpricedCalls: number;
  /** Calls whose provider did not report its usage. */
  readonly estimatedCalls: number;
  /** Whether there are any `estimatedCalls`. */
  readonly estimated: boolean;
}

/** Counts model calls. Each call is unpriced until its price is known. */
export class Tally {
  private calls = 0;
  private failed = 0;
  private replayed = 0;
  private unpriced = 0;
  private estimated = 0;
  private usage: Usage = NO_USAGE;
  private readonly priced = new ExactSum();

  add(call: HookPayloads["llm_end"]): void {
    // First, because it throws if the event has no usage: then nothing of the call is counted.
    this.usage = addUsage(this.usage, call.usage);
    this.calls++;
    this.unpriced++;
    if (call.status === "error") this.failed++;
    if (call.estimated === true) this.estimated++;
  }

  addReplayed(): void {
    this.replayed++;
  }

  /** Adds the price of one of the calls that were added. */
  price(usd: number): void {
    this.unpriced--;
    this.priced.add(usd);
  }

  read(): CostTally {
    const pricedUsd = this.priced.value;
    return {
      calls: this.calls,
      failedCalls: this.failed,
      replayedCalls: this.replayed,
      usage: { ...this.usage },
      costUsd: this.unpriced > 0 ? null : pricedUsd,
      pricedUsd,
      unpricedCalls: this.unpriced,
      estimatedCalls: this.estimated,
      estimated: this.estimated > 0,
    };
  }
}
