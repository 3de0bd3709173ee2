import {
  InvalidValueError,
  isPromiseLike,
  type Ledger,
  type MaybePromise,
  type Reservation,
  type ReserveOptions,
  type Settlement,
  type Spend,
} from "@ravi/kernel";
import { checkPort } from "@ravi/kernel/loop";

/**
 * Reserves the same amounts from several ledgers that do not share an ancestor, all or nothing: if one refuses, the earlier
 * reservations are cancelled and its error is thrown. Use it for a tracker of your own beside the run's ledger. Returns a promise
 * only if one of the ledgers does. Nobody waits for room (`onFull: "queue"`): who waits in one ledger must hold nothing in another.
 */
export function reserveAll(
  ledgers: readonly Ledger[],
  estimate: Partial<Spend>,
  given?: ReserveOptions,
): MaybePromise<Reservation> {
  checkLedgers(ledgers);
  const options: ReserveOptions | undefined = given && { ...given, onFull: "deny" };
  const held: Reservation[] = [];
  for (let index = 0; index < ledgers.length; index++) {
    let one: MaybePromise<Reservation> | undefined;
    try {
      one = ledgers[index]?.reserve(estimate, options);
    } catch (refusal) {
      return cancelAndThrow(held, refusal);
    }
    if (one === undefined) continue;
    if (isPromiseLike(one)) return reserveRest(held, one, ledgers.slice(index + 1), estimate, options);
    held.push(one);
  }
  return joined(held);
}

/** Before anything is reserved: one that is missing would be passed over, and what it limits would not be limited. */
function checkLedgers(ledgers: readonly Ledger[]): void {
  if (!Array.isArray(ledgers))
    throw new InvalidValueError({ field: "ledgers", value: ledgers, expected: "an array of ledgers" });
  for (let index = 0; index < ledgers.length; index++)
    checkPort(`ledgers[${index}]`, ledgers[index], ["reserve"]);
}

async function reserveRest(
  held: Reservation[],
  first: PromiseLike<Reservation>,
  rest: readonly Ledger[],
  estimate: Partial<Spend>,
  options: ReserveOptions | undefined,
): Promise<Reservation> {
  try {
    held.push(await first);
    for (const ledger of rest) held.push(await ledger.reserve(estimate, options));
  } catch (refusal) {
    await cancelAndThrow(held, refusal);
  }
  return joined(held);
}

/** Always throws the refusal, even if a reservation cannot be given back. */
function cancelAndThrow(held: readonly Reservation[], refusal: unknown): MaybePromise<never> {
  const refuse = (): never => {
    throw refusal;
  };
  let given: MaybePromise<void>;
  try {
    given = cancelAll(held);
  } catch {
    return refuse();
  }
  return isPromiseLike(given) ? Promise.resolve(given).then(refuse, refuse) : refuse();
}

function joined(held: readonly Reservation[]): Reservation {
  return {
    settle: (actual) => closeAll(held, (one) => one.settle(actual), merged),
    cancel: () => cancelAll(held),
  };
}

function cancelAll(held: readonly Reservation[]): MaybePromise<void> {
  return closeAll(
    held,
    (one) => one.cancel(),
    () => undefined,
  );
}

/** Closes all of them even if one fails; then throws the first failure. */
function closeAll<T, R>(
  held: readonly Reservation[],
  close: (one: Reservation) => MaybePromise<T>,
  whole: (results: readonly T[]) => R,
): MaybePromise<R> {
  const known: T[] = [];
  const later: PromiseLike<T>[] = [];
  const failures: unknown[] = [];
  for (const one of held) {
    try {
      const closed = close(one);
      if (isPromiseLike(closed)) later.push(closed);
      else known.push(closed);
    } catch (failure) {
      failures.push(failure);
    }
  }
  const end = (others: readonly T[]): R => {
    if (failures.length > 0) throw failures[0];
    return whole([...known, ...others]);
  };
  return later.length === 0 ? end([]) : Promise.all(later).then(end);
}

function merged(settlements: readonly Settlement[]): Settlement {
  return {
    warnings: settlements.flatMap(({ warnings }) => warnings),
    exceeded: settlements.flatMap(({ exceeded }) => exceeded),
  };
}
