import {
  AgentId,
  ExecId,
  HookEvent,
  type HookPayloads,
  type Hooks,
  type Logger,
  RunId,
  SessionId,
} from "@ravi/kernel";

export const EVENTS: readonly HookEvent[] = Object.values(HookEvent);

export function base(at = 1) {
  const runId = RunId("run-1");
  return {
    agentName: "lead",
    agentId: AgentId("lead"),
    runId,
    execId: ExecId(runId),
    sessionId: SessionId("session-1"),
    at,
  };
}

export function llmEnd(more: Partial<HookPayloads["llm_end"]> = {}): HookPayloads["llm_end"] {
  return {
    ...base(),
    key: "llm:gpt#1",
    provider: "openai",
    model: "gpt",
    status: "ok",
    usage: { inputTokens: 10, outputTokens: 5 },
    costUsd: 0.01,
    durationMs: 7,
    ...more,
  };
}

export function runEnd(more: Partial<HookPayloads["run_end"]> = {}): HookPayloads["run_end"] {
  const usage = { inputTokens: 10, outputTokens: 5 };
  return { ...base(), status: "completed", usage, costUsd: 0.01, durationMs: 9, ...more };
}

const error = {
  code: null,
  name: "Error",
  message: "no",
  retryable: false,
  fields: { status: 500 },
  cause: null,
};

/** A payload of every event, each time anew. */
export function samples(): HookPayloads {
  const tool = { key: "tool:1:0", toolName: "search", callId: "c1" };
  return {
    run_start: { ...base(), input: "hello" },
    run_end: runEnd({ error: { ...error } }),
    step_start: { ...base(), step: 1 },
    step_end: { ...base(), step: 1 },
    llm_start: { ...base(), key: "llm:gpt#1", provider: "openai", model: "gpt", messageCount: 2 },
    llm_end: llmEnd({ error: { ...error } }),
    tool_start: { ...base(), ...tool },
    tool_end: {
      ...base(),
      ...tool,
      status: "error",
      durationMs: 3,
      error: { ...error, cause: { ...error } },
    },
    guardrail_trip: { ...base(), layer: "pii", reason: "an e-mail address" },
    handoff: { ...base(), to: "researcher", task: "look" },
    flow_start: { ...base(), flow: "f", branches: 2 },
    flow_end: { ...base(), flow: "f", status: "completed", durationMs: 4 },
    budget_warning: { ...base(), dimension: "cost", used: 4, limit: 5, scope: "lead" },
    preempted: { ...base(), by: AgentId("urgent") },
    resumed: { ...base(), pausedMs: 10 },
    retry: { ...base(), attempt: 1, delayMs: 100, error: { ...error } },
    compaction: { ...base(), strategy: "window", before: 10, after: 5 },
    approval_requested: { ...base(), name: "approval:1", question: "may I?" },
  };
}

/** Dispatches the sample of an event whose name is only known at run time. */
export function dispatchSample(hooks: Hooks, event: HookEvent, payloads = samples()): unknown {
  return hooks.dispatch(event, payloads[event]);
}

/** Throws anything, also what is no error. */
export function raise(value: unknown): never {
  throw value as Error;
}

export interface LogLine {
  readonly level: keyof Logger;
  readonly message: string;
  readonly fields: unknown;
}

export function memoryLogger(): Logger & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: unknown): void =>
      void lines.push({ level, message, fields });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
