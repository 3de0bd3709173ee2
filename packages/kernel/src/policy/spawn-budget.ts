import { checkBoolean, checkInteger, checkIntegerOrNull } from "../core/check.ts";
import type { JsonObject } from "../core/json.ts";
import { POLICY_VERSION, readOptions, readRecord } from "./record.ts";

/** How many agents a run may have. All agents of a tree share the same object. */
export interface SpawnBudget {
  /** How many agents may hold a slot at the same time, including the root. Default: 50. */
  readonly maxAgents: number;
  /** Whether a HIGH or CRITICAL agent may take the slot of a less important one. Default: true. */
  readonly allowPreempt: boolean;
  /** How many agents may be hired during the whole run, including the root. Null (the default): no limit. */
  readonly maxTotal: number | null;
  /** How deep the tree may grow; the root is at 0. Null (the default): no limit. */
  readonly maxDepth: number | null;
  /** Plain data that `spawnBudget.fromJSON` reads. */
  toJSON(): JsonObject;
}

/** The limits of a `SpawnBudget`, with defaults. */
export interface SpawnBudgetOptions {
  /** Default: 50. */
  readonly maxAgents?: number | undefined;
  /** Default: true. */
  readonly allowPreempt?: boolean | undefined;
  /** Default: null, no limit. */
  readonly maxTotal?: number | null | undefined;
  /** Default: null, no limit. */
  readonly maxDepth?: number | null | undefined;
}

const FIELDS = ["maxAgents", "allowPreempt", "maxTotal", "maxDepth"] as const;

export interface SpawnBudgetFactory {
  (options?: SpawnBudgetOptions): SpawnBudget;
  /** Reads what `toJSON` returned. Throws an `InvalidValueError` if the version or a field is not known. */
  fromJSON(json: unknown): SpawnBudget;
}

/** The default budget. Created once, because most runs use it. */
let defaultBudget: SpawnBudget | undefined;

/**
 * Makes a frozen budget of headcount. Throws an `InvalidValueError` for a wrong or unknown field. `spawnBudget.fromJSON` reads
 * one back.
 */
export const spawnBudget: SpawnBudgetFactory = Object.assign(
  (options?: SpawnBudgetOptions): SpawnBudget => {
    if (options === undefined) return (defaultBudget ??= new SpawnBudgetValue({}));
    if (SpawnBudgetValue.isOne(options)) return options;
    return new SpawnBudgetValue(readOptions("spawnBudget", options, FIELDS));
  },
  { fromJSON: (json: unknown): SpawnBudget => new SpawnBudgetValue(readRecord("spawnBudget", json, FIELDS)) },
);

/** A class, so that `toJSON` is a method of the prototype: it is not copied, compared or listed. */
class SpawnBudgetValue implements SpawnBudget {
  // A private field: no other code can add it to an object or copy it.
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

  /**
   * Whether the value was made by this class, so that it needs no second check and keeps its identity. False for a copy, or an
   * object that inherits from one.
   */
  static isOne(value: object): value is SpawnBudgetValue {
    // Most callers pass plain options; for those `instanceof` is answered in compiled code, and the private check is not.
    return value instanceof SpawnBudgetValue && #isChecked in value;
  }

  toJSON(): JsonObject {
    const { maxAgents, allowPreempt, maxTotal, maxDepth } = this;
    return { v: POLICY_VERSION, maxAgents, allowPreempt, maxTotal, maxDepth };
  }
}

/** Only undefined gets the default. Null is an error here, because there is no unlimited headcount. */
function orDefault(value: unknown, otherwise: unknown): unknown {
  return value === undefined ? otherwise : value;
}
