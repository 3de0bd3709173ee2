import type { ExecutionBudgetOptions, Ledger, Settlement } from "@ravi/kernel";
import { least } from "@ravi/kernel/loop";
import { ExecutionTracker, reserveAll } from "@ravi/resources";

/** A ledger below any other: it counts by itself, and everything that is spent here is also spent above. */
export function childOf(above: Ledger, budget: ExecutionBudgetOptions, scope: string): Ledger {
  const own = new ExecutionTracker(budget, { scope, reserve: false });
  const child: Ledger = {
    reserve: (estimate, options) => reserveAll([own, above], estimate, options),
    async charge(spent, options) {
      const [here, there] = [own.charge(spent, options), await above.charge(spent, options)];
      return joined(here, there);
    },
    async raise(more) {
      own.raise(more);
      await above.raise?.(more);
    },
    child: (limits, name) => childOf(child, limits, name),
    remaining() {
      const [here, there] = [own.remaining(), above.remaining()];
      return {
        tokens: least(here.tokens, there.tokens),
        cost: least(here.cost, there.cost),
        turns: least(here.turns, there.turns),
        toolCalls: least(here.toolCalls, there.toolCalls),
      };
    },
    get used() {
      return own.used;
    },
    snapshot: () => own.snapshot(),
  };
  return child;
}

function joined(here: Settlement, there: Settlement): Settlement {
  return {
    warnings: [...here.warnings, ...there.warnings],
    exceeded: [...here.exceeded, ...there.exceeded],
  };
}
