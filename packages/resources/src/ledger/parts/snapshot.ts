import { checkFields, checkInteger, InvalidValueError, type JsonObject } from "@ravi/kernel";
import type { Account } from "../account.ts";
import type { WrapUpReserve } from "../wrap-up.ts";
import { type Amounts, DIMENSIONS, type SpendDimension } from "../units.ts";

const VERSION = 1;

/** The state of one ledger: its own counters (which include those below it) and the reservations made on it. */
export interface LedgerState {
  readonly scope: string;
  /** The scope of the ledger above; null for a root. */
  readonly parent: string | null;
  readonly sameAgent: boolean;
  /** As written by `executionBudget(…).toJSON()`. */
  readonly budget: JsonObject;
  readonly warnAt: number;
  readonly reserve: WrapUpReserve | null;
  readonly used: Amounts;
  readonly held: Amounts;
  readonly open: number;
  readonly largest: Amounts;
  readonly warned: readonly SpendDimension[];
  readonly nextId: number;
  readonly reservations: readonly (Amounts & { readonly id: number })[];
}

export function writeSnapshot(state: LedgerState, at: number): JsonObject {
  const { reserve, ...rest } = state;
  return {
    v: VERSION,
    at,
    ...rest,
    reserve: reserve === null || reserve === false ? reserve : { ...reserve },
    used: { ...state.used },
    held: { ...state.held },
    largest: { ...state.largest },
    warned: [...state.warned],
    reservations: state.reservations.map((one) => ({ ...one })),
  };
}

const FIELDS = [
  "v",
  "at",
  "scope",
  "parent",
  "sameAgent",
  "budget",
  "warnAt",
  "reserve",
  "used",
  "held",
  "open",
  "largest",
  "warned",
  "nextId",
  "reservations",
] as const;

/** Reads what `snapshot()` wrote, before or after JSON. Throws an `InvalidValueError` for anything else: money is not guessed. */
export function readSnapshot(json: unknown): LedgerState {
  const fields = checkFields("snapshot", json, FIELDS);
  if (fields["v"] !== VERSION) {
    throw wrong("v", fields["v"], `${VERSION}, the only supported version`);
  }
  const { scope, parent, sameAgent, budget, warnAt, reserve, warned, reservations } = fields;
  if (typeof scope !== "string") throw wrong("scope", scope, "a string");
  if (parent !== null && typeof parent !== "string")
    throw wrong("parent", parent, "a scope, or null for a root");
  if (typeof sameAgent !== "boolean") throw wrong("sameAgent", sameAgent, "true or false");
  if (typeof budget !== "object" || budget === null)
    throw wrong("budget", budget, "an execution budget as JSON");
  if (typeof warnAt !== "number") throw wrong("warnAt", warnAt, "a number");
  if (!Array.isArray(warned) || !warned.every(isDimension))
    throw wrong("warned", warned, "an array of dimensions");
  if (!Array.isArray(reservations))
    throw wrong("reservations", reservations, "an array of open reservations");
  if (reserve !== null && reserve !== false && typeof reserve !== "object") {
    throw wrong("reserve", reserve, "an object of sizes, false or null");
  }
  const state: LedgerState = {
    scope,
    parent,
    sameAgent,
    budget: budget as JsonObject,
    warnAt,
    reserve,
    used: amounts("used", fields["used"]),
    held: amounts("held", fields["held"]),
    open: checkInteger("snapshot.open", fields["open"], 0),
    largest: amounts("largest", fields["largest"]),
    warned,
    nextId: checkInteger("snapshot.nextId", fields["nextId"], 1),
    reservations: reservations.map((one: unknown, index) => reservation(`reservations[${index}]`, one)),
  };
  refuseImpossible(state);
  return state;
}

/**
 * `held` includes the reservations listed here and those below. If it were less than the listed ones, settling them would create
 * money.
 */
function refuseImpossible({ held, open, nextId, reservations }: LedgerState): void {
  const ids = new Set(reservations.map(({ id }) => id));
  if (ids.size < reservations.length || reservations.some(({ id }) => id >= nextId))
    throw wrong("reservations", reservations, "each id only once, and below nextId");
  if (reservations.length > open)
    throw wrong("open", open, `at least ${reservations.length}, the reservations listed`);
  for (const { unit } of DIMENSIONS) {
    const listed = reservations.reduce((sum, one) => sum + one[unit], 0);
    if (listed > held[unit])
      throw wrong(`held.${unit}`, held[unit], `at least ${listed}, what the listed reservations hold`);
  }
}

/** The dimensions whose warning was already given. */
export function warnedOf(account: Account): SpendDimension[] {
  return DIMENSIONS.filter(
    ({ unit }) => account.limited[unit] && account.watch[unit] > account.caps[unit],
  ).map(({ name }) => name);
}

function amounts(field: string, value: unknown): Amounts {
  const fields = checkFields(
    `snapshot.${field}`,
    value,
    DIMENSIONS.map(({ unit }) => unit),
  );
  const read = (unit: keyof Amounts): number => checkInteger(`snapshot.${field}.${unit}`, fields[unit], 0);
  return { tokens: read("tokens"), nanos: read("nanos"), turns: read("turns"), toolCalls: read("toolCalls") };
}

function reservation(field: string, value: unknown): Amounts & { id: number } {
  const { id, ...rest } = checkFields(`snapshot.${field}`, value, [
    "id",
    ...DIMENSIONS.map(({ unit }) => unit),
  ]);
  return { id: checkInteger(`snapshot.${field}.id`, id, 1), ...amounts(field, rest) };
}

function isDimension(value: unknown): value is SpendDimension {
  return DIMENSIONS.some(({ name }) => name === value);
}

function wrong(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: `snapshot.${field}`, value, expected });
}
