import {
  addUsage,
  type CallNote,
  type Estimate,
  type JsonObject,
  NO_USAGE,
  type Price,
  totalTokens,
  type Usage,
} from "@ravi/kernel";

/** What one call took. A cost of null is one that nobody knows. */
export interface Paid {
  readonly usage: Usage;
  readonly cost: number | null;
  readonly isWaste: boolean;
}

/** What a call of that estimate can have taken at most; without one, nothing is known of it. */
export function paidAtMost(estimate: Estimate | undefined, isWaste: boolean): Paid {
  if (estimate === undefined) return { usage: NO_USAGE, cost: null, isWaste };
  const { inputTokens, maxOutputTokens, price } = estimate;
  return { usage: { inputTokens, outputTokens: maxOutputTokens }, cost: usdOf(price), isWaste };
}

/** Null where nobody knows it. */
export function usdOf(price: Price): number | null {
  return "unpriced" in price ? null : price.usd;
}

/** As it is on record. */
export function spendOf({ usage, cost, isWaste }: Paid): JsonObject {
  return {
    tokens: totalTokens(usage),
    cost: cost ?? 0,
    turns: 1,
    usage: { ...usage },
    priced: cost !== null,
    ...(isWaste && { waste: cost ?? 0 }),
  };
}

// Shared: nearly every call is the only one of its effect.
const NONE: readonly number[] = Object.freeze([]);
const THE_FIRST: readonly number[] = Object.freeze([0]);

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
  /** Of one call: a ledger holds back as much for the last one. */
  private largestTokens = 0;
  private largestNano = 0;
  private unpriced = false;
  /** Its effect has come to its end: what is paid from now on may not be in the sum that is on record of it. */
  isClosed = false;
  /** What the last try took, while it is not on record by itself. */
  unwritten: Paid | undefined;
  private unwrittenCall = 0;
  private isTried = false;
  /** Calls beside the one that the effect was begun for. They are numbered, over all bills that are part of one. */
  private calls = 0;
  /** Numbers of those that were sent and are not settled: what they take is not in here yet. */
  private open = NONE;
  /** What it is a part of. */
  private readonly whole: Bill | undefined;

  constructor(whole?: Bill) {
    this.whole = whole;
  }

  /** A call is about to be sent. Gives its number: 0 for the one that the effect was begun for, its own first try. */
  take(isNested: boolean): number {
    if (this.whole !== undefined) return this.whole.take(isNested);
    const call = isNested || this.isTried ? ++this.calls : 0;
    this.isTried ||= !isNested;
    this.open = call === 0 && this.open.length === 0 ? THE_FIRST : [...this.open, call];
    return call;
  }

  /** It is no longer under way. */
  drop(call: number): void {
    if (this.whole !== undefined) this.whole.drop(call);
    else if (this.open.length === 1 && this.open[0] === call) this.open = NONE;
    else this.open = this.open.filter((each) => each !== call);
  }

  leaveUnwritten(call: number, paid: Paid): void {
    this.unwrittenCall = call;
    this.unwritten = paid;
  }

  takeUnwritten(): CallNote[] {
    const { unwritten: paid, unwrittenCall: call } = this;
    if (paid === undefined) return [];
    this.unwritten = undefined;
    return [{ call, spend: { ...spendOf(paid), ...(call > 0 && { retries: 1 }) } }];
  }

  /** The attempt of that number has come to its end: a turn in any case. Gives its tokens. */
  settle(call: number, { usage, cost, isWaste }: Paid): number {
    this.drop(call);
    const tokens = totalTokens(usage);
    this.add(usage, tokens, cost, isWaste);
    return tokens;
  }

  private add(usage: Usage, tokens: number, cost: number | null, isWaste: boolean): void {
    const nano = Math.round((cost ?? 0) * 1e9);
    this.tokens += tokens;
    this.largestTokens = Math.max(this.largestTokens, tokens);
    this.largestNano = Math.max(this.largestNano, nano);
    this.usage = addUsage(this.usage, usage);
    this.nano += nano;
    if (isWaste) this.waste += nano;
    this.unpriced ||= cost === null;
    this.turns++;
    this.whole?.add(usage, tokens, cost, isWaste);
  }

  /** Nothing was paid, nor is anything under way that may be. */
  get isEmpty(): boolean {
    return this.turns === 0 && this.open.length === 0;
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
    const said = {
      tokens: this.tokens,
      cost: this.nano / 1e9,
      turns: this.turns,
      usage: { ...this.usage },
      priced: !this.unpriced,
    };
    if (this.isOfOneCall) return said;
    return {
      ...said,
      ...(this.attempts > 1 && { retries: this.attempts - 1 }),
      ...(this.waste > 0 && { waste: this.waste / 1e9 }),
      ...(this.turns > 1 && { largest: { tokens: this.largestTokens, cost: this.largestNano / 1e9 } }),
      ...(this.calls > 0 && { calls: this.calls, own: this.attempts }),
      ...(this.open.length > 0 && { open: [...this.open] }),
    };
  }

  /** As most are. */
  private get isOfOneCall(): boolean {
    return (
      this.attempts <= 1 && this.waste <= 0 && this.turns <= 1 && this.calls === 0 && this.open.length === 0
    );
  }
}
