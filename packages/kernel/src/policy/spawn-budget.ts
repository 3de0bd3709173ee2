import { checkBoolean, checkFields, checkInteger, checkIntegerOrNull } from "../core/check.ts";
import type { JsonObject } from "../core/json.ts";
import { POLICY_VERSION, readRecord } from "./record.ts";

/** How many agents a whole tree may have. There is one for the run; every node holds the same object. */
export interface SpawnBudget {
  /** How many may hold a slot at once; the root is one of them. */
  readonly maxAgents: number;
  /** Whether a HIGH or CRITICAL agent may take the slot of a lesser one. */
  readonly allowPreempt: boolean;
  /** How many may ever be hired in the run, the root included; null: no limit. */
  readonly maxTotal: number | null;
  /** How deep the tree may grow (the root is at 0); null: no limit. */
  readonly maxDepth: number | null;
  toJSON(): JsonObject;
}

export interface SpawnBudgetOptions {
  readonly maxAgents?: number | undefined;
  readonly allowPreempt?: boolean | undefined;
  readonly maxTotal?: number | null | undefined;
  readonly maxDepth?: number | null | undefined;
}

const FIELDS = ["maxAgents", "allowPreempt", "maxTotal", "maxDepth"] as const;

export interface SpawnBudgetFactory {
  (options?: SpawnBudgetOptions): SpawnBudget;
  fromJSON(json: unknown): SpawnBudget;
}

/** What holds when nothing is said: made once, as most runs say nothing. */
let unsaid: SpawnBudget | undefined;

/** How many agents there may be, as a frozen value; `fromJSON` reads one again. */
export const spawnBudget: SpawnBudgetFactory = Object.assign(
  (options?: SpawnBudgetOptions): SpawnBudget => {
    if (options === undefined) return (unsaid ??= new Budget({}));
    if (Budget.isOne(options)) return options;
    return new Budget(checkFields("spawnBudget", options, FIELDS));
  },
  { fromJSON: (json: unknown): SpawnBudget => new Budget(readRecord("spawnBudget", json, FIELDS)) },
);

/** Its `toJSON` is a method and no field: it is not copied, compared or listed. */
class Budget implements SpawnBudget {
  // Private to the language: nobody else can give it to an object, nor copy it.
  // oxlint-disable-next-line no-unused-private-class-members -- it is asked for by its name alone
  readonly #isChecked = true;
  readonly maxAgents: number;
  readonly allowPreempt: boolean;
  readonly maxTotal: number | null;
  readonly maxDepth: number | null;

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.maxAgents = checkInteger("spawnBudget.maxAgents", orDefault(fields["maxAgents"], 50), 1);
    this.allowPreempt = checkBoolean("spawnBudget.allowPreempt", orDefault(fields["allowPreempt"], true));
    this.maxTotal = checkIntegerOrNull("spawnBudget.maxTotal", fields["maxTotal"], 1);
    this.maxDepth = checkIntegerOrNull("spawnBudget.maxDepth", fields["maxDepth"], 0);
    Object.freeze(this);
  }

  /** Whether it was checked here, and so needs no second look and keeps its identity. Neither an heir nor a copy was. */
  static isOne(value: object): value is Budget {
    // For the plain options that most give, the first is answered in compiled code and the second is not.
    return value instanceof Budget && #isChecked in value;
  }

  toJSON(): JsonObject {
    const { maxAgents, allowPreempt, maxTotal, maxDepth } = this;
    return { v: POLICY_VERSION, maxAgents, allowPreempt, maxTotal, maxDepth };
  }
}

/** Only what is absent gets the default: a null here is a mistake, because there is no unlimited headcount. */
function orDefault(value: unknown, otherwise: unknown): unknown {
  return value === undefined ? otherwise : value;
}
