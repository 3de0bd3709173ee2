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
import { agentIdOf, checkPort, checkText, forgetOldest } from "@ravi/kernel/loop";
import { Metrics, type RunMetrics } from "./metrics.ts";

const OWNER = "InformationAgent";
const DEFAULT_RUNS = 100;

export interface InformationAgentOptions {
  /** The agent's id. Default: "information". */
  readonly name?: string | undefined;
  /** What other agents are told about it. Default: a sentence that explains its task. */
  readonly description?: string | undefined;
  /** How many runs it remembers; beyond that the one watched first is forgotten. Default: 100. */
  readonly maxRuns?: number | undefined;
}

/** What can be watched: the handle of a run. */
export interface Watched {
  readonly runId: RunId;
  events(): AsyncIterable<RunEvent>;
}

interface WatchedRun {
  readonly metrics: Metrics;
  /** The promise of `watch`, while the run is being followed. */
  end: Promise<RunMetrics> | undefined;
}

/**
 * Watches runs and sums calls, tokens, cost, errors and durations, per agent and in total. It only observes: it spends nothing, and no run
 * waits for it. If it is run or hired as an agent, it answers with these metrics as JSON.
 */
export class InformationAgent implements Agent<RunMetrics> {
  readonly id: AgentId;
  readonly description: string;
  private readonly maxRuns: number;
  private readonly runs = new Map<RunId, WatchedRun>();

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: InformationAgentOptions = {}) {
    checkFields(OWNER, options, ["name", "description", "maxRuns"]);
    this.id = agentIdOf(`${OWNER}.name`, options.name ?? "information");
    const {
      description = "Reports what a run has used so far. Its task is the id of that run, or empty for the current run.",
    } = options;
    this.description = checkText(`${OWNER}.description`, description);
    this.maxRuns = checkInteger(`${OWNER}.maxRuns`, options.maxRuns ?? DEFAULT_RUNS, 1);
  }

  /**
   * Follows a run from now on and resolves with its metrics when its events end. If the run was followed before, for example before it was
   * resumed, the new figures are added. While a run is being followed, another call returns the same promise.
   */
  watch(watched: Watched): Promise<RunMetrics> {
    checkPort(`${OWNER}.watch: a run's handle`, watched, ["events"]);
    if (typeof watched.runId !== "string") {
      const expected = "the id of a run: pass the handle that run() returned";
      throw new InvalidValueError({ field: `${OWNER}.watch: runId`, value: watched.runId, expected });
    }
    const watchedRun = this.runs.get(watched.runId) ?? { metrics: new Metrics(), end: undefined };
    this.runs.set(watched.runId, watchedRun);
    forgetOldest(this.runs, this.maxRuns);
    return (watchedRun.end ??= this.follow(watched, watchedRun).finally(() => (watchedRun.end = undefined)));
  }

  /** The metrics of a run so far; undefined if it was never watched or is forgotten. */
  metrics(runId: string): RunMetrics | undefined {
    const watchedRun = this.runs.get(runId as RunId);
    return watchedRun?.metrics.snapshot(runId as RunId, watchedRun.end === undefined);
  }

  /**
   * Answers with the metrics of the run whose id is the task; if the task is empty, of its own run. Throws an `InvalidValueError`
   * if that run is not watched.
   */
  async run(ctx: RunContext, inbox: Inbox): Promise<AgentResult<RunMetrics>> {
    const runId = inbox.input.trim() || ctx.meta.runId;
    const structured = this.metrics(runId);
    if (structured === undefined) {
      const expected = `the id of a watched run: call watch(handle) first. Watched runs: ${[...this.runs.keys()].join(", ") || "none"}`;
      throw new InvalidValueError({ field: `${this.id}: run`, value: runId, expected });
    }
    return { status: "completed", output: JSON.stringify(structured), structured, stopReason: "done" };
  }

  private async follow(watched: Watched, watchedRun: WatchedRun): Promise<RunMetrics> {
    const events = watched.events();
    if (!isAsyncIterable(events)) {
      const expected = "an async iterable of the run's events: pass the handle that run() returned";
      throw new InvalidValueError({ field: `${OWNER}.watch: events()`, value: events, expected });
    }
    for await (const event of events) {
      if (!isRunEvent(event)) {
        const expected = "an event of the run, { seq, at, agentId, execId, event }";
        throw new InvalidValueError({
          field: `${OWNER}.watch: what events() yields`,
          value: event,
          expected,
        });
      }
      watchedRun.metrics.add(event);
    }
    return watchedRun.metrics.snapshot(watched.runId, true);
  }
}

/** Only what is read of it. */
function isRunEvent(value: Partial<RunEvent> | null | undefined): boolean {
  const event: unknown = value?.event;
  return typeof value?.execId === "string" && typeof event === "object" && event !== null && "type" in event;
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
