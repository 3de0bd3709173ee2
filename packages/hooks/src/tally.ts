import { addUsage, type HookPayloads, NO_USAGE, type Usage } from "@ravi/kernel";
import { ExactSum } from "./exact-sum.ts";

export interface CostTally {
  /** Model calls that were made; those told again by a resumed run are not among them. */
  readonly calls: number;
  readonly failedCalls: number;
  readonly replayedCalls: number;
  readonly usage: Usage;
  /** Dollars; null while the price of a call is not known, since a sum without it would look like the whole. */
  readonly costUsd: number | null;
  /** Dollars of those calls whose price is known. */
  readonly pricedUsd: number;
  readonly unpricedCalls: number;
  /** Calls whose provider did not say what it used. */
  readonly estimatedCalls: number;
  readonly estimated: boolean;
}

/** Counts model calls. Each is unpriced until its price is known. */
export class Tally {
  private calls = 0;
  private failed = 0;
  private replayed = 0;
  private unpriced = 0;
  private estimated = 0;
  private usage: Usage = NO_USAGE;
  private readonly priced = new ExactSum();

  add(call: HookPayloads["llm_end"]): void {
    // First, since it throws where the event has no usage: then nothing of it is counted.
    this.usage = addUsage(this.usage, call.usage);
    this.calls++;
    this.unpriced++;
    if (call.status === "error") this.failed++;
    if (call.estimated === true) this.estimated++;
  }

  addReplayed(): void {
    this.replayed++;
  }

  /** The price of one of the calls that were added. */
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
