import {
  addUsage,
  type AgentId,
  type ExecId,
  NO_USAGE,
  type RunEvent,
  type RunId,
  type SerializedError,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import { addCost } from "@ravi/kernel/loop";

/** What one agent of a run did, as far as its events were seen. */
export type AgentMetrics = {
  readonly agentId: AgentId;
  readonly execId: ExecId;
  readonly status: "running" | "completed" | "partial" | "paused" | "failed" | "cancelled";
  /** Model calls that used tokens or cost money. */
  readonly calls: number;
  /** Tool calls that the model asked for, including hand-offs and calls that were refused. */
  readonly toolCalls: number;
  readonly usage: Usage;
  /** Dollars; null if the price of a call is not known. */
  readonly costUsd: number | null;
  /** Failed tool calls and hand-offs, plus the agent's own failure. A cancellation is not one. */
  readonly errors: number;
  /** Milliseconds from its first event to its last. */
  readonly durationMs: number;
};

/** The metrics of a whole run. */
export type RunMetrics = {
  readonly runId: RunId;
  /** Whether the run's events have ended. */
  readonly isOver: boolean;
  /** In the order of their first event. */
  readonly agents: readonly AgentMetrics[];
  /** All agents together. `durationMs` is from the first event of the run to the last. */
  readonly total: Pick<AgentMetrics, "calls" | "toolCalls" | "usage" | "costUsd" | "errors" | "durationMs">;
};

type Mutable = { -readonly [K in keyof AgentMetrics]: AgentMetrics[K] } & { firstAt: number; lastAt: number };

/** Sums the events of one run. */
export class Metrics {
  private readonly agents = new Map<ExecId, Mutable>();

  add({ agentId, execId, at, event }: RunEvent): void {
    let agent = this.agents.get(execId);
    if (agent === undefined) {
      agent = {
        agentId,
        execId,
        status: "running",
        calls: 0,
        toolCalls: 0,
        usage: NO_USAGE,
        costUsd: 0,
        errors: 0,
        durationMs: 0,
        firstAt: at,
        lastAt: at,
      };
      this.agents.set(execId, agent);
    }
    agent.lastAt = Math.max(agent.lastAt, at);
    switch (event.type) {
      case "started":
        // A run that resumes after a crash repeats the events of what its agents did before; only paid usage is not repeated.
        agent.toolCalls = 0;
        agent.errors = 0;
        agent.status = "running";
        break;
      case "usage":
        // A call that was refused or answered from a cache is reported too, but used nothing.
        if (totalTokens(event.usage) > 0 || event.costUsd !== 0) agent.calls++;
        agent.usage = addUsage(agent.usage, event.usage);
        agent.costUsd = addCost(agent.costUsd, event.costUsd);
        break;
      case "toolCall":
        agent.toolCalls++;
        break;
      case "toolResult":
        if (event.isError) agent.errors++;
        break;
      case "error":
        agent.status = isCancelled(event.error) ? "cancelled" : "failed";
        if (agent.status === "failed") agent.errors++;
        break;
      case "completed":
        agent.status = event.result.status;
        break;
      default:
    }
  }

  snapshot(runId: RunId, isOver: boolean): RunMetrics {
    const all = [...this.agents.values()];
    const agents = all.map(({ firstAt, lastAt, ...agent }): AgentMetrics => ({
      ...agent,
      durationMs: Math.max(0, lastAt - firstAt),
    }));
    const first = all.reduce((at, { firstAt }) => Math.min(at, firstAt), Infinity);
    const last = all.reduce((at, { lastAt }) => Math.max(at, lastAt), first);
    const add = (of: (agent: AgentMetrics) => number): number =>
      agents.reduce((n, agent) => n + of(agent), 0);
    const total = {
      calls: add(({ calls }) => calls),
      toolCalls: add(({ toolCalls }) => toolCalls),
      usage: agents.reduce((usage, agent) => addUsage(usage, agent.usage), NO_USAGE),
      costUsd: agents.reduce<number | null>((cost, agent) => addCost(cost, agent.costUsd), 0),
      errors: add(({ errors }) => errors),
      durationMs: all.length === 0 ? 0 : last - first,
    };
    return { runId, isOver, agents, total };
  }
}

/** As a runtime decides it: a passed deadline that nobody has caught cancels too. */
function isCancelled({ code }: SerializedError): boolean {
  return code === "CANCELLED" || code === "DEADLINE_EXCEEDED";
}
