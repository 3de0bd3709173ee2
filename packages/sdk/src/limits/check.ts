import {
  checkAmountOrNull,
  checkBoolean,
  checkFields,
  checkInteger,
  checkIntegerOrNull,
  InvalidValueError,
} from "@ravi/kernel";
import { isLedger } from "@ravi/kernel/loop";
import type { Budget, TreeLimits } from "../limits.ts";
import { KERNEL_NAMES } from "./kernel-names.ts";

/** What the limits are called here. */
const NAMES = {
  budget: Object.values(KERNEL_NAMES.budget),
  tree: Object.values(KERNEL_NAMES.tree),
} as const satisfies Record<string, readonly string[]>;

/** The limits that were given, checked. Errors name the field as the user wrote it. */
export function checkBudget(field: string, budget: Budget): Budget {
  if (isLedger(budget)) {
    const expected = "limits such as { usd: 2 }; a ledger is given to an agent: agent({ …, budget: ledger })";
    throw new InvalidValueError({ field, value: budget, expected });
  }
  refuseOtherNames("budget", field, budget);
  checkFields(field, budget, NAMES.budget);
  const { usd, tokens, turns, toolCalls, seconds } = budget;
  if (usd !== undefined) checkDollars(`${field}.usd`, usd);
  if (tokens !== undefined) checkIntegerOrNull(`${field}.tokens`, tokens, 0);
  if (turns !== undefined) checkIntegerOrNull(`${field}.turns`, turns, 0);
  if (toolCalls !== undefined) checkIntegerOrNull(`${field}.toolCalls`, toolCalls, 0);
  if (seconds !== undefined) checkAmountOrNull(`${field}.seconds`, seconds, "positive");
  return { usd, tokens, turns, toolCalls, seconds };
}

/**
 * The ledger counts in whole billionths of a dollar and refuses anything larger, but its error would name an option of another
 * package.
 */
const MOST_DOLLARS = Math.floor(Number.MAX_SAFE_INTEGER / 1e9);

function checkDollars(field: string, value: number | null): void {
  const usd = checkAmountOrNull(field, value, "not negative");
  if (usd === null || usd <= MOST_DOLLARS) return;
  throw new InvalidValueError({ field, value, expected: `at most ${MOST_DOLLARS}, or null for no limit` });
}

/** Throws an `InvalidValueError` if a limit is wrong; otherwise returns the same object. */
export function checkTree(field: string, tree: TreeLimits): TreeLimits {
  refuseOtherNames("tree", field, tree);
  checkFields(field, tree, NAMES.tree);
  const { agents, depth, total, preempt } = tree;
  if (agents !== undefined) checkInteger(`${field}.agents`, agents, 1);
  if (depth !== undefined) checkIntegerOrNull(`${field}.depth`, depth, 0);
  if (total !== undefined) checkIntegerOrNull(`${field}.total`, total, 1);
  if (preempt !== undefined) checkBoolean(`${field}.preempt`, preempt);
  return tree;
}

/** Refuses names of the kernel with the name here, and those of the other kind of limits with where they belong. */
function refuseOtherNames(kind: "budget" | "tree", field: string, given: unknown): void {
  if (typeof given !== "object" || given === null) return;
  const other = kind === "budget" ? "tree" : "budget";
  for (const name of Object.keys(given)) {
    if (NAMES[kind].includes(name)) continue;
    const value: unknown = Reflect.get(given, name);
    const own = nameIn(kind, name);
    const others = nameIn(other, name);
    if (own === undefined && others === undefined) continue;
    const hint =
      own === undefined
        ? `${others} is a limit of the ${other}: ${other}: { ${others} }`
        : `here it is ${own}`;
    const expected = `no field of that name; ${hint}`;
    throw new InvalidValueError({ field: `${field}.${name}`, value, expected });
  }
}

/** The name here of a limit that is given by either name. */
function nameIn(kind: "budget" | "tree", name: string): string | undefined {
  const names: Readonly<Record<string, string>> = KERNEL_NAMES[kind];
  return Object.hasOwn(names, name) ? names[name] : NAMES[kind].find((here) => here === name);
}
