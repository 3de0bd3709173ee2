import {
  type Agent,
  type AgentId,
  type AgentResult,
  checkFields,
  checkInteger,
  type Inbox,
  InvalidValueError,
  type RunContext,
  type RunEvent,
  type RunId,
} from "@ravi/kernel";
import { agentIdOf, checkPort } from "@ravi/kernel/loop";
import { checkOptionalText } from "./check.ts";
import { Metrics, type RunMetrics } from "./metrics.ts";

const OWNER = "InformationAgent";
const DEFAULT_RUNS = 100;

export interface InformationAgentOptions {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** How many runs it remembers; past that the one watched first is forgotten: 100. */
  readonly maxRuns?: number | undefined;
}

/** What can be watched: the handle of a run. */
export interface Watched {
  readonly runId: RunId;
  events(): AsyncIterable<RunEvent>;
}

interface Seen {
  readonly metrics: Metrics;
  /** While it is followed. */
  end: Promise<RunMetrics> | undefined;
}

/**
 * Watches runs and adds up calls, tokens, cost, errors and durations, for each agent and in all. It observes only: it
 * spends nothing, and no run waits for it. Hired or run as an agent, it answers with what it knows.
 */
export class InformationAgent implements Agent<RunMetrics> {
  readonly id: AgentId;
  readonly description: string;
  private readonly maxRuns: number;
  private readonly runs = new Map<RunId, Seen>();

  constructor(options: InformationAgentOptions = {}) {
    checkFields(OWNER, options, ["name", "description", "maxRuns"]);
    this.id = agentIdOf(`${OWNER}.name`, options.name ?? "information");
    this.description =
      checkOptionalText(`${OWNER}.description`, options.description) ??
      "Says what a run has used so far. Its task is the run's id; empty: this run's.";
    this.maxRuns = checkInteger(`${OWNER}.maxRuns`, options.maxRuns ?? DEFAULT_RUNS, 1);
  }

  /**
   * Follows a run from now on; a run that was followed before, as when it was resumed, is added to. Gives the metrics when
   * its events end. A run that is being followed is followed once, however often this is asked for.
   */
  watch(watched: Watched): Promise<RunMetrics> {
    checkPort(`${OWNER}.watch: a run's handle`, watched, ["events"]);
    if (typeof watched.runId !== "string") {
      const expected = "the id of a run: hand over the handle that run() gave";
      throw new InvalidValueError({ field: `${OWNER}.watch: runId`, value: watched.runId, expected });
    }
    const seen = this.runs.get(watched.runId) ?? { metrics: new Metrics(), end: undefined };
    this.runs.set(watched.runId, seen);
    this.forgetOldest();
    return (seen.end ??= this.follow(watched, seen));
  }

  /** What was seen of a run so far; undefined when it is not watched. */
  metrics(runId: string): RunMetrics | undefined {
    const seen = this.runs.get(runId as RunId);
    return seen?.metrics.snapshot(runId as RunId, seen.end === undefined);
  }

  async run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<RunMetrics>> {
    const runId = inbox.input.trim() || ctx.meta.runId;
    const structured = this.metrics(runId);
    if (structured === undefined) {
      const expected = `a run that is watched: call watch(handle) first. Watched are ${[...this.runs.keys()].join(", ") || "none"}`;
      throw new InvalidValueError({ field: `${this.id}: run`, value: runId, expected });
    }
    return { status: "completed", output: JSON.stringify(structured), structured, stopReason: "done" };
  }

  private async follow(watched: Watched, seen: Seen): Promise<RunMetrics> {
    try {
      for await (const event of watched.events()) seen.metrics.add(event);
    } finally {
      seen.end = undefined;
    }
    return seen.metrics.snapshot(watched.runId, true);
  }

  private forgetOldest(): void {
    if (this.runs.size <= this.maxRuns) return;
    for (const oldest of this.runs.keys()) {
      this.runs.delete(oldest);
      return;
    }
  }
}
