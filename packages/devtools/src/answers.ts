import type { AgentAccount, RunEvent, RunReport, RunSummary } from "@ravi/kernel";

// What the page gets. A run may have ten thousand agents and a text of ten megabytes, and a browser should show the rest all the same.

const MOST_AGENTS = 1_000;
const MOST_CALLS = 500;
const MOST_EVENTS = 500;
const MOST_CHARS = 20_000;

export interface ListAnswer {
  /** The newest first. */
  readonly runs: readonly RunSummary[];
  /** How many there are. */
  readonly total: number;
  /** The run that was asked for; null if there is none of that id. */
  readonly selected: RunSummary | null;
  readonly isReadOnly: boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function listAnswer(
  all: readonly RunSummary[],
  asked: { readonly limit: number; readonly runId: string | null; readonly isReadOnly: boolean },
): ListAnswer {
  const { limit, runId, isReadOnly } = asked;
  return {
    runs: all.toSorted((a, b) => b.startedAt - a.startedAt).slice(0, limit),
    total: all.length,
    selected: all.find((run) => run.runId === runId) ?? null,
    isReadOnly,
    now: Date.now(),
  };
}

export interface RunAnswer {
  /** Without the oldest calls and the newest agents of a large run. */
  readonly report: RunReport;
  readonly agentsInAll: number;
  /** The calls of the agents that are not listed. */
  readonly unlisted: Pick<AgentAccount, "modelCalls" | "toolCalls">;
  readonly callsInAll: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

export function runAnswer(report: RunReport): RunAnswer {
  const { agents, calls } = report;
  const unlisted = { modelCalls: 0, toolCalls: 0 };
  for (const { modelCalls, toolCalls } of agents.slice(MOST_AGENTS)) {
    unlisted.modelCalls += modelCalls;
    unlisted.toolCalls += toolCalls;
  }
  return {
    report: { ...report, agents: agents.slice(0, MOST_AGENTS), calls: calls.slice(-MOST_CALLS) },
    agentsInAll: agents.length,
    unlisted,
    callsInAll: calls.length,
    now: Date.now(),
  };
}

export interface EventsAnswer {
  readonly events: readonly RunEvent[];
  /** How many events come before the first of these. */
  readonly from: number;
  readonly total: number;
}

/** Those after the first `after` ones, of many the newest. */
export function eventsAnswer(all: readonly RunEvent[], after: number): EventsAnswer {
  const from = Math.max(Math.min(after, all.length), all.length - MOST_EVENTS);
  return { events: all.slice(from), from, total: all.length };
}

/** As JSON, without the ends of long texts. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "string" ? shortened(part) : part));
}

function shortened(text: string): string {
  const rest = text.length - MOST_CHARS;
  return rest <= 0 ? text : `${text.slice(0, MOST_CHARS)}… (${rest} more characters)`;
}
