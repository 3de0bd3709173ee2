import { checkAmountOrNull, checkIntegerOrNull } from "../core/check.ts";
import type { JsonObject } from "../core/json.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { POLICY_VERSION, readOptions, readRecord } from "./record.ts";

/** What an agent and everyone it hires may spend. Null means no limit in that dimension. */
export interface ExecutionBudget {
  /** Input and output tokens together. */
  readonly maxTokens: number | null;
  readonly maxCostUsd: number | null;
  /** Model calls. */
  readonly maxTurns: number | null;
  readonly maxToolCalls: number | null;
  /** Seconds from the start of the run. */
  readonly deadlineS: number | null;
  /** Plain data that `executionBudget.fromJSON` reads. */
  toJSON(): JsonObject;
}

/** Fields that are left out or null are unlimited. */
export interface ExecutionBudgetOptions {
  /** Input and output tokens together. */
  readonly maxTokens?: number | null | undefined;
  /** Dollars. */
  readonly maxCostUsd?: number | null | undefined;
  /** Model calls. */
  readonly maxTurns?: number | null | undefined;
  readonly maxToolCalls?: number | null | undefined;
  /** Seconds from the start of the run. */
  readonly deadlineS?: number | null | undefined;
}

const FIELDS = ["maxTokens", "maxCostUsd", "maxTurns", "maxToolCalls", "deadlineS"] as const;

export interface ExecutionBudgetFactory {
  (options?: ExecutionBudgetOptions): ExecutionBudget;
  /** Reads what `toJSON` returned. Throws an `InvalidValueError` if the version or a field is not known. */
  fromJSON(json: unknown): ExecutionBudget;
}

/** The default budget. Created once, because most runs use it. */
let defaultBudget: ExecutionBudget | undefined;

/**
 * Makes a frozen budget. Fields that are left out or null are unlimited. Throws an `InvalidValueError` for a wrong or unknown
 * field. `executionBudget.fromJSON` reads one back.
 */
export const executionBudget: ExecutionBudgetFactory = Object.assign(
  (options?: ExecutionBudgetOptions): ExecutionBudget => {
    if (options === undefined) return (defaultBudget ??= new ExecutionBudgetValue({}));
    if (ExecutionBudgetValue.isOne(options)) return options;
    refuseLedger(options);
    return new ExecutionBudgetValue(readOptions("executionBudget", options, FIELDS));
  },
  {
    fromJSON: (json: unknown): ExecutionBudget =>
      new ExecutionBudgetValue(readRecord("executionBudget", json, FIELDS)),
  },
);

/** Somebody who has a ledger looks for a place for it. That a field of its own is not known would not help. */
function refuseLedger(options: ExecutionBudgetOptions): void {
  if (typeof options !== "object" || options === null) return;
  if (!("reserve" in options) || typeof options.reserve !== "function") return;
  throw new InvalidValueError({
    field: "executionBudget",
    value: options,
    expected:
      "limits such as { maxCostUsd: 2 }; a ledger is given to an agent: new ReActAgent({ …, executionBudget: ledger })",
  });
}

/** A class, so that `toJSON` is a method of the prototype: it is not copied, compared or listed. */
class ExecutionBudgetValue implements ExecutionBudget {
  // A private field: no other code can add it to an object or copy it.
  // oxlint-disable-next-line no-unused-private-class-members -- it is asked for by its name alone
  readonly #isChecked = true;
  readonly maxTokens: number | null;
  readonly maxCostUsd: number | null;
  readonly maxTurns: number | null;
  readonly maxToolCalls: number | null;
  readonly deadlineS: number | null;

  constructor(fields: Readonly<Record<string, unknown>>) {
    this.maxTokens = checkIntegerOrNull("executionBudget.maxTokens", fields["maxTokens"], 0);
    this.maxCostUsd = checkAmountOrNull("executionBudget.maxCostUsd", fields["maxCostUsd"], "not negative");
    this.maxTurns = checkIntegerOrNull("executionBudget.maxTurns", fields["maxTurns"], 0);
    this.maxToolCalls = checkIntegerOrNull("executionBudget.maxToolCalls", fields["maxToolCalls"], 0);
    this.deadlineS = checkAmountOrNull("executionBudget.deadlineS", fields["deadlineS"], "positive");
    Object.freeze(this);
  }

  /**
   * Whether the value was made by this class, so that it needs no second check and keeps its identity. False for a copy, or an
   * object that inherits from one.
   */
  static isOne(value: object): value is ExecutionBudgetValue {
    // Most callers pass plain options; for those `instanceof` is answered in compiled code, and the private check is not.
    return value instanceof ExecutionBudgetValue && #isChecked in value;
  }

  toJSON(): JsonObject {
    const { maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS } = this;
    return { v: POLICY_VERSION, maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS };
  }
}
