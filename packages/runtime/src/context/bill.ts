import { addUsage, type JsonObject, NO_USAGE, totalTokens, type Usage } from "@ravi/kernel";

/** What the attempts at one effect have cost together; written down with its outcome. */
export class Bill {
  tokens = 0;
  turns = 0;
  usage: Usage = NO_USAGE;
  estimated = false;
  /** Tries at the call itself, without what judges and tools asked for. */
  attempts = 0;
  /** How often a provider was called. */
  sent = 0;
  /** Whole nano-dollars. */
  private nano = 0;
  private waste = 0;
  private unpriced = false;
  /** What it is a part of. */
  private readonly whole: Bill | undefined;

  constructor(whole?: Bill) {
    this.whole = whole;
  }

  /** One attempt: a turn in any case. A cost of null is one that nobody knows. */
  add(usage: Usage, cost: number | null, isWaste: boolean): void {
    const nano = Math.round((cost ?? 0) * 1e9);
    this.tokens += totalTokens(usage);
    this.usage = addUsage(this.usage, usage);
    this.nano += nano;
    if (isWaste) this.waste += nano;
    this.unpriced ||= cost === null;
    this.turns++;
    this.whole?.add(usage, cost, isWaste);
  }

  /** Nothing is under way, and what was paid is known. */
  get isSettled(): boolean {
    return this.sent === this.turns && !this.estimated;
  }

  /** Null where a price is missing: not 0. */
  get costUsd(): number | null {
    return this.unpriced ? null : this.nano / 1e9;
  }

  toJSON(): JsonObject {
    return {
      tokens: this.tokens,
      cost: this.nano / 1e9,
      turns: this.turns,
      usage: { ...this.usage },
      priced: !this.unpriced,
      ...(this.attempts > 1 && { retries: this.attempts - 1 }),
      ...(this.waste > 0 && { waste: this.waste / 1e9 }),
    };
  }
}
