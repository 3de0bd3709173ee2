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

/** What both ways of wiring get, and what they give. */
export interface Parts {
  readonly model: LLMClient;
  readonly journal: Journal;
  readonly prices: OwnPrices | undefined;
  readonly hooks: Hooks;
  readonly limit: Limit;
  readonly maxAgents: number;
}

export type Assignment = { readonly question: string } | { readonly resume: string };

export type Outcome = Pick<
  RunResult,
  "runId" | "status" | "output" | "usage" | "cost" | "agents" | "inDoubt" | "stoppedBy" | "error"
>;

export interface Started {
  readonly events: () => AsyncIterable<RunEvent>;
  readonly result: Promise<Outcome>;
  /** Ends the run in this process. It keeps its place in the journal. */
  readonly suspend: () => Promise<void>;
}

/** The small packages, wired by hand: who there is, and the one headcount and the one ledger that hold for all of them. */
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

/** What the whole tree may take at most. */
export function limits({ maxAgents, limit }: Pick<Parts, "maxAgents" | "limit">) {
  const spend = "usd" in limit ? { maxCostUsd: limit.usd } : { maxTokens: limit.tokens };
  return {
    spawnBudget: { maxAgents, maxDepth: 3 },
    executionBudget: { ...spend, maxTurns: 100, deadlineS: 600 },
  };
}

/** What holds on every engine. */
export function rules(prices: OwnPrices | undefined) {
  return {
    meter: new ModelMeter({ prices }),
    ledger: (root: Supervision) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    restart: new RetryPolicy(1),
    // The one layer that repeats a model call; the provider and its client never do.
    pipelines: { chat: new MiddlewarePipeline([retry({ maxRetries: 2 })]) },
  };
}

/** Everybody by name is for workers who may be given anyone of them. */
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
    // Whoever finds no free seat waits for one.
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
