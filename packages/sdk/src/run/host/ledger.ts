import {
  type Clock,
  type ExecutionBudgetOptions,
  InvalidValueError,
  isRaviError,
  type JsonObject,
  type Ledger,
  type Logger,
  type ReserveOptions,
  type Spend,
  type Supervision,
} from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";
import { ExecutionTracker } from "@ravi/resources";

/**
 * The ledger of a run. If the user has set a limit in dollars, models without a known price are refused. The default limit lets
 * them through at a cost of 0, since otherwise no local model would run without configured prices; their tokens are still
 * counted, and the logger is told.
 */
export function ledgerFor(root: Supervision, { facts, clock, logger }: LedgerOptions): Ledger {
  const tracker = new ExecutionTracker(root.executionBudget, { scope: root.rootId, clock });
  return new SdkLedger(tracker, facts?.["isDefaultUsd"] === true ? new Uncounted(root, logger) : undefined);
}

interface LedgerOptions {
  /** What `factsFor` gave when the run began. */
  readonly facts: JsonObject | undefined;
  readonly clock: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** The facts that a run is recorded with: whether its limit in dollars is the default one. None if it is not. */
export function factsFor(isDefaultUsd: boolean): JsonObject | undefined {
  return isDefaultUsd ? DEFAULT_USD : undefined;
}

const DEFAULT_USD: JsonObject = Object.freeze({ isDefaultUsd: true });

/** Tells the logger of models that the default limit does not count, once of each. */
class Uncounted {
  private readonly root: Supervision;
  private readonly logger: Logger | undefined;
  private readonly told = new Set<string>();

  constructor(root: Supervision, logger: Logger | undefined) {
    this.root = root;
    this.logger = logger;
  }

  tell(what = "a model"): void {
    if (this.told.has(what)) return;
    this.told.add(what);
    const { runId, executionBudget } = this.root;
    const message = `the limit of $${executionBudget.maxCostUsd} does not count calls of ${what}, whose price is not known: set ${pricesOf(what)}, or budget: { usd: null } if it costs nothing`;
    tellLog(this.logger, "warn", message, { runId, model: what });
  }
}

/** A ledger whose errors name this package's options. With `uncounted`, a call without a known price counts as free. */
class SdkLedger implements Ledger {
  private readonly ledger: ExecutionTracker;
  private readonly uncounted: Uncounted | undefined;

  constructor(ledger: ExecutionTracker, uncounted: Uncounted | undefined) {
    this.ledger = ledger;
    this.uncounted = uncounted;
  }

  get used(): Spend {
    return this.ledger.used;
  }

  reserve(estimate: Partial<Spend>, options?: ReserveOptions): ReturnType<Ledger["reserve"]> {
    const { ledger, uncounted } = this;
    if (uncounted === undefined || !isUnpriced(estimate)) return reserve(ledger, estimate, options);
    uncounted.tell(options?.what);
    return reserve(ledger, { ...estimate, cost: 0 }, options);
  }

  charge(...spent: Parameters<Ledger["charge"]>): ReturnType<Ledger["charge"]> {
    return this.ledger.charge(...spent);
  }

  child(budget: ExecutionBudgetOptions, scope: string): Ledger {
    const hasDollars = (budget.maxCostUsd ?? null) !== null;
    return new SdkLedger(this.ledger.child(budget, scope), hasDollars ? undefined : this.uncounted);
  }

  remaining(): ReturnType<Ledger["remaining"]> {
    return this.ledger.remaining();
  }

  overrun(): Spend {
    return this.ledger.overrun();
  }

  raise(more: Partial<Spend>): void {
    this.ledger.raise(more);
  }

  snapshot(): JsonObject {
    return this.ledger.snapshot();
  }
}

function reserve(
  ledger: Ledger,
  estimate: Partial<Spend>,
  options: ReserveOptions | undefined,
): ReturnType<Ledger["reserve"]> {
  try {
    return ledger.reserve(estimate, options);
  } catch (error) {
    throw isRaviError(error, "INVALID_VALUE") && isUnpriced(estimate)
      ? unpriced(options?.what, error)
      : error;
  }
}

/** Whether the estimate is for a model call whose price is not known. */
function isUnpriced({ cost, tokens = 0, turns = 0 }: Partial<Spend>): boolean {
  return cost === undefined && (tokens > 0 || turns > 0);
}

function unpriced(what = "provider:model", cause: unknown): InvalidValueError {
  return new InvalidValueError({
    field: `the price of ${what}`,
    value: "unknown",
    expected: `a known price, because the run has a limit in dollars: set ${pricesOf(what)} (dollars per million tokens; 0 is allowed), or remove the limit where it was set: budget: { usd: null } of the run or the agent, or total.usd of the conversation`,
    cause,
  });
}

function pricesOf(what: string): string {
  return `prices: { ${JSON.stringify(what)}: { input: 0.5, output: 1.5 } }`;
}
