import {
  type Agent,
  type AgentResult,
  type HireOutcome,
  type JsonValue,
  NO_USAGE,
  type RunContext,
  type Usage,
} from "@ravi/kernel";
import { emptySpend, type Spend } from "./spend.ts";

/**
 * A hired agent tells its parent what it has used. A result has no place for that, so it travels in `structured`, which is
 * written down with the result: a resumed parent, for whom the child is not run again, reads the same figure.
 */
type Report = {
  readonly "~ravi.worker": 1;
  readonly usage: Usage;
  readonly structured?: JsonValue | undefined;
};

/** What each agent that was made here has used while this process watched. */
const spends = new WeakMap<Agent, Spend>();

export function isCounted(agent: Agent): boolean {
  return spends.has(agent);
}

/** The same agent, with a report beside its result. One for each hire. `watch` gives a context that counts. */
export function countedAgent(agent: Agent, watch: (ctx: RunContext, spend: Spend) => RunContext): Agent {
  const spend = emptySpend();
  const { id, version, description, hooks, pipelines, defaults } = agent;
  const counted: Agent = {
    id,
    version,
    description,
    hooks,
    pipelines,
    defaults,
    async run(ctx, inbox) {
      const { structured, ...result } = await agent.run(watch(ctx, spend), inbox);
      const report: Report = {
        "~ravi.worker": 1,
        usage: spend.usage,
        // Whoever hired it gets it back as it is; that it can be written down is for the host to check.
        ...(structured !== undefined && { structured: structured as JsonValue }),
      };
      return { ...result, structured: report };
    },
  };
  spends.set(counted, spend);
  return counted;
}

export function usageOf(outcome: HireOutcome, agent: Agent): Usage {
  const report = "result" in outcome ? reportOf(outcome.result) : undefined;
  // Who failed has left no report: then counts what was seen.
  return report?.usage ?? spends.get(agent)?.usage ?? NO_USAGE;
}

/** The outcome as the agent itself has given it. */
export function withoutReport(outcome: HireOutcome): HireOutcome {
  if (!("result" in outcome)) return outcome;
  const report = reportOf(outcome.result);
  if (report === undefined) return outcome;
  const { structured: _, ...rest } = outcome.result;
  const { structured } = report;
  return { status: outcome.status, result: structured === undefined ? rest : { ...rest, structured } };
}

function reportOf({ structured }: AgentResult): Report | undefined {
  return typeof structured === "object" && structured !== null && "~ravi.worker" in structured
    ? (structured as Report)
    : undefined;
}
