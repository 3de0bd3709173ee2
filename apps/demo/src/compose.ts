import type { Agent, Hooks, Journal, LLMClient, RunEvent, RunResult, Supervision } from "@ravi/kernel";
import { MiddlewarePipeline, retry } from "@ravi/middleware";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter, type OwnPrices } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";
import type { Limit } from "./limit.ts";
import { ANALYST, ARCHIVIST, FACT_CHECKER, LEAD, RESEARCHER, type Role, WRITER } from "./roles.ts";
import { calculate, read, search } from "./tools.ts";

/** What both ways of wiring (by hand and with the sdk) need. */
export interface Parts {
  readonly model: LLMClient;
  readonly journal: Journal;
  readonly prices: OwnPrices | undefined;
  readonly hooks: Hooks;
  readonly limit: Limit;
  readonly maxAgents: number;
}

/** Either a new question, or the id of a run to resume. */
export type Assignment = { readonly question: string } | { readonly resume: string };

/** The part of a result that the demo prints. */
export type Outcome = Pick<
  RunResult,
  "runId" | "status" | "output" | "usage" | "cost" | "agents" | "inDoubt" | "stoppedBy" | "error"
>;

/** A run under way, whichever engine runs it. */
export interface Started {
  readonly events: () => AsyncIterable<RunEvent>;
  readonly result: Promise<Outcome>;
  /** Stops the run in this process. Its journal keeps it, so that it can be resumed. */
  readonly suspend: () => Promise<void>;
}

/** Wires the small packages by hand: the agents, one headcount and one ledger for the whole tree. */
export function startByHand(parts: Parts, assignment: Assignment): Started {
  const { lead } = buildTeam(parts.model);
  const runtime = new Runtime({
    ...rules(parts.prices),
    agents: [lead],
    journal: parts.journal,
    hooks: parts.hooks,
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
  });
  const handle =
    "resume" in assignment
      ? runtime.resume(assignment.resume)
      : runtime.run(lead, assignment.question, limits(parts));
  return { events: () => handle.events(), result: handle.result, suspend: () => runtime.close() };
}

/** The limits of the whole tree. */
export function limits({ maxAgents, limit }: Pick<Parts, "maxAgents" | "limit">) {
  const spend = "usd" in limit ? { maxCostUsd: limit.usd } : { maxTokens: limit.tokens };
  return {
    spawnBudget: { maxAgents, maxDepth: 3 },
    executionBudget: { ...spend, maxTurns: 100, deadlineS: 600 },
  };
}

/** The options that are the same on every engine. */
export function rules(prices: OwnPrices | undefined) {
  return {
    meter: new ModelMeter({ prices }),
    ledger: (root: Supervision) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    restart: new RetryPolicy(1),
    // This is the only layer that repeats a model call: neither the provider nor its HTTP client retries.
    pipelines: { chat: new MiddlewarePipeline([retry({ maxRetries: 2 })]) },
  };
}

/** Builds the agents. A Restate worker registers `everybody`, since the server may give it any of them to run. */
export function buildTeam(model: LLMClient): { readonly lead: Agent; readonly everybody: readonly Agent[] } {
  const of = ({ name, description, instructions }: Role) => ({
    name,
    description,
    instructions,
    model,
    settings: { maxOutputTokens: 400 },
  });
  const hired = ({ priority, executionBudget }: Role, agent: Agent) => ({
    agent,
    priority,
    executionBudget,
    // If all slots are taken, the hire waits for one.
    onFull: "queue" as const,
  });

  const factChecker = new ReActAgent({ ...of(FACT_CHECKER), tools: [read] });
  const researcher = new OrchestratorAgent({
    ...of(RESEARCHER),
    tools: [search, read, calculate],
    subAgents: [hired(FACT_CHECKER, factChecker)],
  });
  const archivist = new ReActAgent({ ...of(ARCHIVIST), tools: [search, read] });
  const analyst = new ReActAgent({ ...of(ANALYST), tools: [read, calculate] });
  const writer = new ReActAgent(of(WRITER));
  const lead = new OrchestratorAgent({
    ...of(LEAD),
    subAgents: [
      hired(RESEARCHER, researcher),
      hired(ARCHIVIST, archivist),
      hired(ANALYST, analyst),
      hired(WRITER, writer),
    ],
  });
  return { lead, everybody: [lead, researcher, factChecker, archivist, analyst, writer] };
}
