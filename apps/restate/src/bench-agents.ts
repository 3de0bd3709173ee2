import { type Agent, AgentId, type LLMClient } from "@ravi/kernel";

export const ANSWER = {
  message: { role: "assistant", content: "ok" },
  usage: { inputTokens: 1, outputTokens: 1 },
  finishReason: "stop",
} as const;

/** A fake model that takes between half and one and a half times the mean: real models do not answer in step. */
class SlowModel implements LLMClient {
  readonly id = "fake";
  readonly info = { provider: "fake", model: "fake" };
  /** Milliseconds that all calls took so far. */
  tookMs = 0;
  private readonly meanMs: number;

  constructor(meanMs: number) {
    this.meanMs = meanMs;
  }

  async generate(): Promise<typeof ANSWER> {
    const began = performance.now();
    const ms = this.meanMs * (0.5 + Math.random());
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    this.tookMs += performance.now() - began;
    return ANSWER;
  }
}

/** Milliseconds in which an agent surely starts, even on a busy machine. */
const START_MS = 100;

/** Called once for each execution; returns a function that is called before each model call. */
type Watch = (isRoot: boolean) => () => void;

/**
 * Two agents to measure. `caller` makes model calls one after the other; its input is `<calls>x<ms>`, the number of calls and the
 * model's mean time. It returns the mean milliseconds that a call took beyond the model's time. `lead` hires many callers at
 * once, `<agents>x<calls>x<ms>`, and returns their mean.
 */
export function callers(watch: Watch = () => () => {}): { readonly caller: Agent; readonly lead: Agent } {
  const caller: Agent = {
    id: AgentId("caller"),
    async run(ctx, inbox) {
      const [calls = 0, meanMs = 0, startAt] = inbox.input.split("x").map(Number);
      const model = new SlowModel(meanMs);
      const tick = watch(ctx.supervision.isRoot);
      if (startAt !== undefined) await ctx.sleepUntil(startAt);
      let began = performance.now();
      for (let n = 0; n < calls; n++) {
        // The first call is not counted: all agents make it at the same moment, which takes longer.
        if (n === 1) {
          began = performance.now();
          model.tookMs = 0;
        }
        tick();
        await ctx.llm(model, { messages: [{ role: "user", content: `${n}` }], maxOutputTokens: 1 });
      }
      const extra = (performance.now() - began - model.tookMs) / Math.max(1, calls - 1);
      return { status: "completed", output: String(extra), stopReason: "done" };
    },
  };
  const lead: Agent = {
    id: AgentId("lead"),
    async run(ctx, inbox) {
      const [agents = "0", ...each] = inbox.input.split("x");
      // If a model time is given, the callers begin at a common time when all have been started, so that starting them is not
      // measured.
      const startAt = each.length < 2 ? [] : [(await ctx.now()) + Number(agents) * START_MS];
      const leaf = { kind: "hire", agent: caller, input: [...each, ...startAt].join("x") } as const;
      const outcomes = await ctx.batch(Array.from({ length: Number(agents) }, () => leaf));
      const extra = outcomes.map((outcome) => ("result" in outcome ? Number(outcome.result.output) : NaN));
      const mean = extra.reduce((sum, ms) => sum + ms, 0) / extra.length;
      return { status: "completed", output: String(mean), stopReason: "done" };
    },
  };
  return { caller, lead };
}
