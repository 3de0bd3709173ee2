import type { JsonObject, MaybePromise } from "@ravi/kernel";
import { describe, expect, test } from "vitest";

/** One test case of a suite. */
export interface SuiteCase<Stage, Needs> {
  /** The number of the behaviour in docs/behaviours.md. */
  readonly rule: string;
  /** What the implementation must do. */
  readonly says: string;
  /** What the implementation must offer; otherwise the case is left out. */
  readonly needs?: Needs | undefined;
  readonly run: (stage: Stage) => Promise<void>;
}

const IS_LONG = Boolean(process.env["RAVI_LONG"]);

/** Only a guard against hanging: with RAVI_LONG a case plays thousands of games. */
export const PATIENCE_MS = IS_LONG ? 900_000 : 60_000;

/** How many games a case plays. */
export function games(usual = 60): { readonly numRuns: number } {
  return { numRuns: IS_LONG ? 5_000 : usual };
}

/** Declares a vitest test for each case whose needs are offered. */
export function declareCases<Stage, Needs>(
  what: string,
  cases: readonly SuiteCase<Stage, Needs>[],
  isOffered: (needs: Needs) => boolean,
  assertCase: (each: SuiteCase<Stage, Needs>) => Promise<void>,
  timeout = PATIENCE_MS,
): void {
  describe(`the ${what}`, () => {
    for (const each of cases) {
      if (each.needs !== undefined && !isOffered(each.needs)) continue;
      test(`${each.rule}: ${each.says}`, { timeout }, () => assertCase(each));
    }
  });
}

/** Calls in an async function, because an implementation may either throw or reject. */
export async function attempt<T>(act: () => MaybePromise<T>): Promise<T> {
  return act();
}

/** Fails unless the call throws or rejects with such an error. `what` is to be refused: the failure names it. */
export async function expectRefused(
  expected: object,
  act: () => MaybePromise<unknown>,
  what = "it",
): Promise<void> {
  const [outcome] = await Promise.allSettled([attempt(act)]);
  if (outcome.status === "fulfilled")
    throw new Error(`${what} was accepted; expected an error with ${fieldsIn(expected)}`);
  expect(outcome.reason, `${what} was refused`).toMatchObject(expected);
}

/** The fields of an object in words, such as `at: NaN`. */
export function fieldsIn(fields: object): string {
  return Object.entries(fields)
    .map(([field, value]) => `${field}: ${typeof value === "number" ? value : JSON.stringify(value)}`)
    .join(", ");
}

/** What the suite offers under this name. Throws if it offers none: the case should have said that it needs it. */
export function offered<S extends object, K extends keyof S & string>(
  suite: S,
  ability: K,
  { says }: { readonly says: string },
): NonNullable<S[K]> {
  const offer = suite[ability];
  if (offer === undefined || offer === null) throw new TypeError(`${says}: the suite has no ${ability}`);
  return offer;
}

/** Waits for many calls. A store that is slow is told so: that it did not finish in time would look as if it hangs. */
export async function allWithin(ms: number, what: string, calls: readonly Promise<unknown>[]): Promise<void> {
  let answered = 0;
  const counted = calls.map((call) => call.then(() => answered++));
  const howFar = (): string =>
    `${what}: ${answered} of ${calls.length} calls were answered in ${ms} ms; if the store is slow and does not hang, give the suite a longer patienceMs`;
  await before(ms, howFar, Promise.all(counted));
}

/** Rejects if the promise does not settle in time, because the case would hang. */
export function within<T>(ms: number, what: string, promise: PromiseLike<T>): Promise<T> {
  return before(ms, () => `${what}: nothing happened for ${ms} ms`, promise);
}

async function before<T>(ms: number, says: () => string, promise: PromiseLike<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(says())), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** For what is checked in the middle of a game. */
export function must(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`not so: ${what}`);
}

/** What a store and another process would make of a snapshot. */
export function throughJson(snapshot: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(snapshot)) as JsonObject;
}
