import { ExecId, type Remaining, type Spend } from "@ravi/kernel";
import { type Recording, stepOf } from "../engine/recording.ts";
import { raisesOf, spendsOf } from "./spends.ts";

type Sum = { -readonly [D in keyof Spend]: number };

/**
 * What an execution and everyone below it will have spent by the end of their record, less what will have been granted to them. The record
 * is read once, and each step is subtracted when the agent asks for it again: adding it all up each time that the agent looks at its budget
 * would take minutes with some thousand calls.
 */
export class UnreplayedSpend {
  private readonly sum: Sum = zero();
  /** The part of the sum for each key that the execution itself asks for. */
  private readonly byKey = new Map<string, Sum>();

  constructor(recording: Recording, execId: ExecId) {
    const mine = recording.of(execId);
    const keys = new Map<string, string>();
    for (const key of mine.unreadKeys()) {
      keys.set(stepOf({ exec: execId, key }), key);
      keys.set(ExecId(execId, key), key);
    }
    const keyOf = (exec: ExecId, key: string): string | undefined =>
      exec === execId ? keys.get(stepOf({ exec, key })) : keyAbove(exec, execId.length, keys);
    for (const { exec, key, spend, willRepeat } of spendsOf(recording))
      if (!willRepeat) this.add(keyOf(exec, key), spend, 1);
    for (const { exec, key, more } of raisesOf(recording)) this.add(keyOf(exec, key), more, -1);
    // Assigned in two steps, because V8 would otherwise allocate the function in its old generation: see docs/decisions/0012.
    const subtract = (key: string): void => this.subtract(key);
    mine.onTaken = subtract;
  }

  /** What was left before it, if `left` is left now and limits are exceeded by `over`. */
  addTo(left: Remaining, over: Spend): Remaining {
    const { tokens, cost, turns, toolCalls } = this.sum;
    return {
      tokens: before(left.tokens, over.tokens, tokens),
      cost: dollarsBefore(left.cost, over.cost, cost / NANOS),
      turns: before(left.turns, over.turns, turns),
      toolCalls: before(left.toolCalls, over.toolCalls, toolCalls),
    };
  }

  private add(key: string | undefined, spend: Partial<Spend>, sign: 1 | -1): void {
    if (key === undefined) return;
    let sum = this.byKey.get(key);
    if (sum === undefined) this.byKey.set(key, (sum = zero()));
    const { tokens = 0, cost = 0, turns = 0, toolCalls = 0 } = spend;
    // Whole nano-dollars, so that exactly what was added is subtracted.
    const amounts = { tokens, cost: Math.round(cost * NANOS), turns, toolCalls };
    addTo(sum, amounts, sign);
    addTo(this.sum, amounts, sign);
  }

  private subtract(key: string): void {
    const sum = this.byKey.get(key);
    if (sum !== undefined) addTo(this.sum, sum, -1);
  }
}

const NANOS = 1e9;

/** Null is no limit, and stays so. While a limit is exceeded nothing is left, and it may have been exceeded before too. */
function before(left: number | null, over: number, spend: number): number | null {
  if (left === null) return null;
  return over > 0 ? Math.max(0, left - over + spend) : left + spend;
}

/** A ledger that counts whole nano-dollars gives exact amounts, so this is one too: 0.7 and 0.2 are 0.9, not 0.8999999999999999. */
function dollarsBefore(left: number | null, over: number, spend: number): number | null {
  const dollars = before(left, over, spend);
  return left === null || dollars === null || inNanos(left) !== left ? dollars : inNanos(dollars);
}

function inNanos(dollars: number): number {
  return Math.round(dollars * NANOS) / NANOS;
}

function zero(): Sum {
  return { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
}

function addTo(sum: Sum, { tokens, cost, turns, toolCalls }: Spend, sign: 1 | -1): void {
  sum.tokens += sign * tokens;
  sum.cost += sign * cost;
  sum.turns += sign * turns;
  sum.toolCalls += sign * toolCalls;
}

/** The key of the hire in `keys` that an execution is, or is below; undefined if there is none. */
function keyAbove(exec: ExecId, from: number, keys: ReadonlyMap<string, string>): string | undefined {
  for (let end = exec.length; end > from; end = exec.lastIndexOf("/", end - 1)) {
    const key = keys.get(exec.slice(0, end));
    if (key !== undefined) return key;
  }
  return undefined;
}
