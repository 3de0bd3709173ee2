import {
  type Agent,
  AgentId,
  type HireOutcome,
  isRaviError,
  type LLMClient,
  type Meter,
  textOf,
} from "@ravi/kernel";

/** The lead's input, as JSON. */
interface Task {
  readonly researchers: number;
  /** Model calls of each researcher. Without it they call until the budget is used up. */
  readonly steps?: number | undefined;
  readonly onFull?: "deny" | "queue" | undefined;
}

/** A team whose cost is known to the cent: each call uses one input and one output token, at two cents each. */
export function team(model: LLMClient): { readonly lead: Agent; readonly researcher: Agent } {
  const ask = (content: string) => ({ messages: [{ role: "user", content }], maxOutputTokens: 1 }) as const;
  const researcher: Agent = {
    id: AgentId("researcher"),
    async run(ctx, inbox) {
      const { topic, steps = Infinity } = JSON.parse(inbox.input) as { topic: number; steps?: number };
      const heard: string[] = [];
      for (let step = 1; step <= steps; step++) {
        const { message } = await ctx.llm(model, ask(`topic ${topic} step ${step}`));
        heard.push(textOf(message));
      }
      return { status: "completed", output: heard.join(", "), stopReason: "done" };
    },
  };
  const lead: Agent = {
    id: AgentId("lead"),
    async run(ctx, inbox) {
      const { researchers, steps, onFull } = JSON.parse(inbox.input) as Task;
      const outcomes: HireOutcome[] = await ctx.batch(
        Array.from({ length: researchers }, (_, topic) => {
          const input = JSON.stringify({ topic, steps });
          return { kind: "hire", agent: researcher, input, onFull } as const;
        }),
      );
      const found = outcomes.map((outcome) =>
        "result" in outcome && outcome.result.output !== "" ? outcome.result.output : outcome.status,
      );
      if (steps === undefined) return { status: "completed", output: found.join("; "), stopReason: "done" };
      try {
        const { message } = await ctx.llm(model, ask("sum it up"));
        return { status: "completed", output: [...found, textOf(message)].join("; "), stopReason: "done" };
      } catch (error) {
        if (!isRaviError(error, "BUDGET_EXHAUSTED")) throw error;
        return { status: "partial", output: found.join("; "), stopReason: "budget" };
      }
    },
  };
  return { lead, researcher };
}

const USD_PER_TOKEN = 0.02;

/** The loopback server's prices, in dollars per million tokens. */
export const PRICES = { input: USD_PER_TOKEN * 1e6, output: USD_PER_TOKEN * 1e6 } as const;

export const meter: Meter = {
  estimate: () => ({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 2 * USD_PER_TOKEN } }),
  price: (_info, { inputTokens, outputTokens }) => ({ usd: (inputTokens + outputTokens) * USD_PER_TOKEN }),
};
