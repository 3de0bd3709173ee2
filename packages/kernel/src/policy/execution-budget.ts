import { checkAmountOrNull, checkFields, checkIntegerOrNull } from "../core/check.ts";
import type { JsonObject } from "../core/json.ts";
import { POLICY_VERSION, readRecord } from "./record.ts";

/** What one agent, with all whom it hires, may spend. A null is no limit in that dimension. */
export interface ExecutionBudget {
  /** Input and output tokens together. */
  readonly maxTokens: number | null;
  readonly maxCostUsd: number | null;
  /** Model calls. */
  readonly maxTurns: number | null;
  readonly maxToolCalls: number | null;
  /** Seconds from the start of the run. */
  readonly deadlineS: number | null;
  toJSON(): JsonObject;
}

export interface ExecutionBudgetOptions {
  readonly maxTokens?: number | null | undefined;
  readonly maxCostUsd?: number | null | undefined;
  readonly maxTurns?: number | null | undefined;
  readonly maxToolCalls?: number | null | undefined;
  readonly deadlineS?: number | null | undefined;
}

const FIELDS = ["maxTokens", "maxCostUsd", "maxTurns", "maxToolCalls", "deadlineS"] as const;

export interface ExecutionBudgetFactory {
  (options?: ExecutionBudgetOptions): ExecutionBudget;
  fromJSON(json: unknown): ExecutionBudget;
}

/** What holds when nothing is said: made once, as most runs say nothing. */
let unsaid: ExecutionBudget | undefined;

/** What may be spent, as a frozen value. What is left out or null is unlimited; `fromJSON` reads one again. */
export const executionBudget: ExecutionBudgetFactory = Object.assign(
  (options?: ExecutionBudgetOptions): ExecutionBudget => {
    if (options === undefined) return (unsaid ??= new Budget({}));
    if (Budget.isOne(options)) return options;
    return new Budget(checkFields("executionBudget", options, FIELDS));
  },
  { fromJSON: (json: unknown): ExecutionBudget => new Budget(readRecord("executionBudget", json, FIELDS)) },
);

/** Its `toJSON` is a method and no field: it is not copied, compared or listed. */
class Budget implements ExecutionBudget {
  // Private to the language: nobody else can give it to an object, nor copy it.
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

  /** Whether it was checked here, and so needs no second look and keeps its identity. Neither an heir nor a copy was. */
  static isOne(value: object): value is Budget {
    // For the plain options that most give, the first is answered in compiled code and the second is not.
    return value instanceof Budget && #isChecked in value;
  }

  toJSON(): JsonObject {
    const { maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS } = this;
    return { v: POLICY_VERSION, maxTokens, maxCostUsd, maxTurns, maxToolCalls, deadlineS };
  }
}
