import { BudgetExhaustedError, InvalidValueError } from "@ravi/kernel";
import type { Account } from "../account.ts";
import { hasRoom, type Refusal } from "./chain.ts";
import { type Amounts, DIMENSIONS, type SpendDimension, inUserUnit } from "../units.ts";

const OPTION = {
  tokens: "maxTokens",
  cost: "maxCostUsd",
  turns: "maxTurns",
  toolCalls: "maxToolCalls",
} as const satisfies Record<SpendDimension, string>;

/** The error of a refused reservation. Its `used` includes what open calls have reserved, since that is not available either. */
export function refusalError(
  { account, heldBack }: Refusal,
  wanted: Readonly<Amounts>,
  waitable?: boolean,
): BudgetExhaustedError {
  const { caps, used, held } = account;
  for (const { name, unit } of DIMENSIONS) {
    const taken = used[unit] + held[unit];
    if (hasRoom(caps[unit], taken, wanted[unit], heldBack[unit])) continue;
    return new BudgetExhaustedError({
      dimension: name,
      used: inUserUnit(unit, taken),
      limit: inUserUnit(unit, caps[unit]),
      scope: account.scope,
      waitable: waitable === true ? true : undefined,
      hint: hintFor(name, {
        wanted: wanted[unit],
        left: caps[unit] - taken,
        held: held[unit],
        heldBack: heldBack[unit],
        open: account.open,
      }),
    });
  }
  throw new Error("unreachable: a refusal has a dimension that refuses");
}

interface Shortage {
  readonly wanted: number;
  readonly left: number;
  readonly held: number;
  readonly heldBack: number;
  readonly open: number;
}

function hintFor(name: SpendDimension, { wanted, left, held, heldBack, open }: Shortage): string {
  const show = name === "cost" ? usd : String;
  const parts: string[] = [];
  if (left < 0) parts.push(`the limit was exceeded by ${show(-left)}, so no further call is admitted`);
  else if (name === "turns" || name === "toolCalls") parts.push(`${show(left)} left`);
  else {
    const unit = name === "tokens" ? " tokens" : "";
    parts.push(
      `the next call may ${name === "cost" ? "cost" : "take"} up to ${show(wanted)}${unit} and ${show(left)} is left`,
    );
  }
  if (heldBack > 0 && left > 0) {
    parts.push(
      `${heldBack > left ? "all" : show(heldBack)} of it held back for the last turn (wrapUp: true)`,
    );
  }
  if (held > 0)
    parts.push(
      `${show(held)} reserved by ${open} open call${open === 1 ? "" : "s"}, which may give some back`,
    );
  return `${parts.join(", ")}; raise ${OPTION[name]}${name === "tokens" || name === "cost" ? " or lower maxOutputTokens" : ""}`;
}

/** The error that `consume` throws after it has counted the spend. */
export function overrunError(account: Account): BudgetExhaustedError {
  for (const { name, unit } of DIMENSIONS) {
    if (account.used[unit] <= account.caps[unit]) continue;
    return new BudgetExhaustedError({
      dimension: name,
      used: inUserUnit(unit, account.used[unit]),
      limit: inUserUnit(unit, account.caps[unit]),
      scope: account.scope,
      hint: `the spend was counted, but nothing more should be spent; raise ${OPTION[name]}, or reserve before each call`,
    });
  }
  throw new Error("unreachable: an overrun has a dimension that was exceeded");
}

/** Not an exhausted budget but one that cannot be enforced: the price of the call is unknown. */
export function unpricedError(account: Account, what: string | undefined): InvalidValueError {
  let capped: Account | undefined = account;
  while (capped !== undefined && !capped.limited.nanos) capped = capped.parent;
  const limit = capped === undefined ? "" : `: ${capped.scope} has a limit of ${usd(capped.caps.nanos)}`;
  return new InvalidValueError({
    field: `the cost of ${what ?? "a model call"}`,
    value: "unknown",
    expected: `a price${limit}. Give one, in dollars per million tokens (0 is a price): prices: { "${what ?? "provider:model"}": { input: 0.5, output: 1.5 } }, an option of PriceBook, of ModelMeter and of a run of the sdk; or remove maxCostUsd`,
  });
}

function usd(nanos: number): string {
  return `$${Number(inUserUnit("nanos", nanos).toPrecision(6))}`;
}
