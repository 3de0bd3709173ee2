import {
  type AbortSignalLike,
  type Agent,
  AgentId,
  type Ledger,
  type LLMClient,
  type RunResult,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { expect } from "vitest";
import { agent, ask, done, meter } from "./priced.ts";

// A world in which money is scarce: each call reserves ten cents and takes two. A call for which there are no ten cents left waits for
// those under way.

export const PRICE = 0.02;

export async function turns(count = 50): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
}

/** A provider that answers as soon as it is open. */
class Provider {
  sent = 0;
  /** How many calls were under way at most. */
  most = 0;
  private underWay = 0;
  /** How long an answer takes. */
  answering = (): Promise<void> => this.opened.promise;
  private readonly opened = Promise.withResolvers<void>();

  readonly model: LLMClient = {
    id: "m",
    info: { provider: "x", model: "m" },
    generate: async (_, options) => {
      this.sent++;
      this.most = Math.max(this.most, ++this.underWay);
      try {
        await Promise.race([this.answering(), aborted(options?.signal)]);
        await turns(1);
      } finally {
        this.underWay--;
      }
      const message = { role: "assistant", content: "ok" } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 10, outputTokens: 10 } };
    },
  };

  open(): void {
    this.opened.resolve();
  }
}

async function aborted(signal: AbortSignalLike | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

export class World {
  readonly provider = new Provider();
  readonly journal = new MemoryJournal();
  readonly clock = virtualClock();
  readonly ledgers: ExecutionTracker[] = [];

  readonly rules: RuntimeOptions = {
    meter: { ...meter, price: () => ({ usd: PRICE }) },
    clock: this.clock,
    ledger: ({ executionBudget, rootId }) => {
      const ledger = new ExecutionTracker(executionBudget, { scope: rootId, clock: this.clock });
      this.ledgers.push(ledger);
      return ledger;
    },
  };

  /** Asks its model so often, one after the other. */
  helper(name: string, calls = 1, executionBudget?: Ledger): Agent {
    const run: Agent["run"] = async (ctx) => {
      for (let n = 0; n < calls; n++) await ctx.llm(this.provider.model, ask(`${name} ${n}`));
      return done(name);
    };
    return { id: AgentId(name), run, ...(executionBudget && { defaults: { executionBudget } }) };
  }

  /** Hires so many helpers at once, and says what came of each. */
  lead(helpers: number, calls = 1, executionBudget?: Ledger): Agent {
    const team = Array.from({ length: helpers }, (_, n) => this.helper(`h${n}`, calls));
    return { ...leadOf(team), ...(executionBudget && { defaults: { executionBudget } }) };
  }

  runtime(root: Agent, journal: MemoryJournal | null = this.journal): Runtime {
    return new Runtime({ ...this.rules, journal: journal ?? undefined, agents: [root] });
  }

  get ledger(): ExecutionTracker {
    return this.ledgers.at(-1) ?? expect.fail("no ledger was made");
  }
}

/** Hires all of them at once, and says what came of each. */
export function leadOf(team: readonly Agent[]): Agent {
  return agent("lead", async (ctx) => {
    const outcomes = await ctx.batch(team.map((one) => ({ kind: "hire", agent: one, input: "" })));
    return done(outcomes.map(({ status }) => status).join(" "));
  });
}

export function agentsOf({ agents = [] }: RunResult): NonNullable<RunResult["agents"]> {
  return agents;
}

export const all = (status: string, count: number): string =>
  Array.from({ length: count }, () => status).join(" ");
