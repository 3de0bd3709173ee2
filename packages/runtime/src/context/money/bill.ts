import { addUsage, type CallNote, type JsonObject, NO_USAGE, totalTokens, type Usage } from "@ravi/kernel";
import { type Charge, spendRecord } from "./charge.ts";

// Shared, because most effects make a single call.
const NONE: readonly number[] = Object.freeze([]);
const THE_FIRST: readonly number[] = Object.freeze([0]);

/** The sum of the charges of one effect: of its own attempts, and of the calls that layers and tools have made inside of it. */
export class Bill {
  usage: Usage = NO_USAGE;
  /** Whether a part of it is what was set aside, because the real usage of a call is not known. */
  estimated = false;
  /** How long its calls have waited for money, added up. */
  waitedMs = 0;
  /** Whether the effect has ended. Later charges are not in the sum of its end entry. */
  isClosed = false;
  private tokens = 0;
  /** How many attempts were charged. */
  private turns = 0;
  /** How often a provider was called. */
  private sent = 0;
  /** The same without nested calls. */
  private ownSent = 0;
  /** Whole nano-dollars. */
  private nano = 0;
  private wasteNano = 0;
  /** The largest single charge, from which a ledger learns how much to hold back for a last call. */
  private largestTokens = 0;
  private largestNano = 0;
  private unpriced = false;
  /** Whether an own attempt was about to be sent: number 0. */
  hasOpenedOwn = false;
  /** Calls beside the one that the effect was begun for, which is number 0. They are numbered from 1. */
  private extraCalls = 0;
  /** Numbers of the calls that are not charged yet. */
  private openCalls = NONE;
  /** The last charge of an own attempt, until it is written to the journal. */
  private unwritten: Charge | undefined;
  private unwrittenNumber = 0;
  /** The bill of the whole effect, of which this one is a part. It numbers the calls for all of its parts. */
  private readonly parent: Bill | undefined;

  constructor(parent?: Bill) {
    this.parent = parent;
  }

  /** Notes that a call is about to be sent. Returns its number: 0 for the effect's own first attempt. */
  open(isNested: boolean): number {
    if (this.parent !== undefined) return this.parent.open(isNested);
    const number = isNested || this.hasOpenedOwn ? ++this.extraCalls : 0;
    this.hasOpenedOwn ||= !isNested;
    this.openCalls = number === 0 && this.openCalls.length === 0 ? THE_FIRST : [...this.openCalls, number];
    return number;
  }

  /** Notes that an opened call has ended without a charge. */
  drop(number: number): void {
    if (this.parent !== undefined) this.parent.drop(number);
    else if (this.openCalls.length === 1 && this.openCalls[0] === number) this.openCalls = NONE;
    else this.openCalls = this.openCalls.filter((each) => each !== number);
  }

  countSent(isNested: boolean): void {
    this.sent++;
    if (!isNested) this.ownSent++;
  }

  /** Notes that an opened call has ended with this charge. It counts as a turn. */
  charge(number: number, charge: Charge): void {
    this.drop(number);
    this.estimated ||= charge.isEstimated;
    this.add(charge);
  }

  private add(charge: Charge): void {
    const { usage, cost, isWaste } = charge;
    const tokens = totalTokens(usage);
    const nano = Math.round((cost ?? 0) * 1e9);
    this.tokens += tokens;
    this.largestTokens = Math.max(this.largestTokens, tokens);
    this.largestNano = Math.max(this.largestNano, nano);
    this.usage = addUsage(this.usage, usage);
    this.nano += nano;
    if (isWaste) this.wasteNano += nano;
    this.unpriced ||= cost === null;
    this.turns++;
    this.parent?.add(charge);
  }

  /**
   * Leaves a charge to be written later, with the next note or in the sum of the effect's end entry. Returns false if it has to be written
   * now.
   */
  leaveUnwritten(number: number, charge: Charge): boolean {
    if (this.isClosed || this.unwritten !== undefined) return false;
    this.unwritten = charge;
    this.unwrittenNumber = number;
    return true;
  }

  /** The charge that was left to be written later, as a note; empty if there is none. From now on it counts as written. */
  takeUnwritten(): CallNote[] {
    const { unwritten: charge, unwrittenNumber: call } = this;
    if (charge === undefined) return [];
    this.unwritten = undefined;
    return [{ call, spend: { ...spendRecord(charge), ...(call > 0 && { retries: 1 }) } }];
  }

  /** Whether nothing was charged and no call is open. */
  get isEmpty(): boolean {
    return this.turns === 0 && this.openCalls.length === 0;
  }

  /** Whether everything that was sent is charged with its real usage. */
  get isSettled(): boolean {
    return this.sent === this.turns && !this.estimated;
  }

  /** Dollars; null if the price of a call is not known. */
  get costUsd(): number | null {
    return this.unpriced ? null : this.nano / 1e9;
  }

  /** The sum as it is written to the journal, where `spends.ts` reads it after a crash. */
  toJSON(): JsonObject {
    const sum = {
      tokens: this.tokens,
      cost: this.nano / 1e9,
      turns: this.turns,
      usage: { ...this.usage },
      priced: !this.unpriced,
    };
    if (this.isOfOneCall) return sum;
    return {
      ...sum,
      ...(this.ownSent > 1 && { retries: this.ownSent - 1 }),
      ...(this.wasteNano > 0 && { waste: this.wasteNano / 1e9 }),
      ...(this.turns > 1 && { largest: { tokens: this.largestTokens, cost: this.largestNano / 1e9 } }),
      ...(this.extraCalls > 0 && { calls: this.extraCalls, own: this.ownSent }),
      ...(this.openCalls.length > 0 && { open: [...this.openCalls] }),
    };
  }

  /** Whether there was no more than one call, and nothing was wasted: the usual case, which needs no further fields. */
  private get isOfOneCall(): boolean {
    const { ownSent, wasteNano, turns, extraCalls, openCalls } = this;
    return ownSent <= 1 && wasteNano <= 0 && turns <= 1 && extraCalls === 0 && openCalls.length === 0;
  }
}
