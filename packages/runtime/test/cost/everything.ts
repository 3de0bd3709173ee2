import type {
  ExecutionBudgetOptions,
  HookEvent,
  Hooks,
  Journal,
  Ledger,
  Meter,
  Pipeline,
  Reservation,
  Spend,
} from "@ravi/kernel";
import type { RuntimeOptions } from "@ravi/runtime";
import { SeatedHeadcount } from "../conformance/seated-headcount.ts";

// A runtime that was given everything, by ports that are as cheap as can be and answer at once: what is counted is the runtime's.

const NOTHING = { warnings: [], exceeded: [] };

function ledger(parent?: Ledger): Ledger {
  const used = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  const add = (spent: Partial<Spend>): void => {
    used.tokens += spent.tokens ?? 0;
    used.turns += spent.turns ?? 0;
  };
  return {
    used,
    reserve(estimate): Reservation {
      void parent?.reserve(estimate);
      return {
        settle(actual) {
          add(actual);
          return NOTHING;
        },
        cancel() {},
      };
    },
    charge(spent) {
      add(spent);
      return NOTHING;
    },
    child(_budget: ExecutionBudgetOptions) {
      return ledger(this);
    },
    remaining: () => ({ tokens: 1e9, cost: null, turns: null, toolCalls: null }),
    snapshot: () => ({}),
  };
}

const meter: Meter = {
  estimate: () => ({ inputTokens: 10, maxOutputTokens: 10, price: { usd: 0.001 } }),
  price: () => ({ usd: 0.0005 }),
};

function listening(heard: Map<string, number>): Hooks {
  return {
    has: () => true,
    dispatch: (event) => void heard.set(event, (heard.get(event) ?? 0) + 1),
    drain() {},
  };
}

function passThrough<C>(): Pipeline<C> {
  return { isNoop: false, admit() {}, run: (_, core) => core(), runDirect: (_, core) => core() };
}

export function everything(journal: Journal, heard = new Map<HookEvent, number>()): RuntimeOptions {
  return {
    journal,
    meter,
    ledger: () => ledger(),
    headcount: (root) => new SeatedHeadcount(root),
    hooks: listening(heard),
    pipelines: { agent: passThrough(), chat: passThrough(), function: passThrough() },
  };
}
