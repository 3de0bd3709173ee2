import { HookEvent, HookManager } from "@ravi/hooks";
import { AgentId, ExecId, type HookPayloads, RunId, SessionId } from "@ravi/kernel";

const ROUNDS = 7;
const CALLS = 200_000;
const WARM_UP_MS = 500;

/** What it costs to call a listener, compared with a plain call of the same function and a plain loop over an array of them. */
export async function hooks(): Promise<void> {
  const payload = llmEnd();
  let seen = 0;
  const listen = (told: HookPayloads["llm_end"]): void => {
    seen += told.usage.inputTokens;
  };
  const rows: Record<string, string> = {
    "plain call": perCall(() => listen(payload)),
    "has, nobody listens": perCall(() => {
      if (none.has(HookEvent.LLM_END)) seen++;
    }),
    "dispatch, 0 listeners": perCall(() => void none.dispatch(HookEvent.LLM_END, payload)),
    "drain, nothing pending": perCall(() => void none.drain()),
    "the four events of a turn, told": perCall(turn(new HookManager())),
  };
  for (const count of [1, 10]) {
    const loop = Array.from({ length: count }, () => (told: HookPayloads["llm_end"]) => listen(told));
    const manager = new HookManager();
    for (const each of loop) manager.on(HookEvent.LLM_END, each);
    rows[`plain loop, ${count}`] = perCall(() => {
      for (const each of loop) each(payload);
    });
    rows[`plain loop over a structuredClone, ${count}`] = perCall(() => {
      const copy = structuredClone(payload);
      for (const each of loop) each(copy);
    }, CALLS / 10);
    rows[`dispatch, ${count} listeners`] = perCall(() => void manager.dispatch(HookEvent.LLM_END, payload));
  }
  for (const count of [1, 10]) {
    const manager = new HookManager();
    for (let n = 0; n < count; n++) manager.on(HookEvent.LLM_END, async (told) => listen(told));
    rows[`dispatch and drain, ${count} async listeners`] = await perDrained(manager, payload);
  }
  if (seen === 0) throw new Error("no listener was called");
  console.log("hooks: one LLM_END (best of 7 rounds)");
  for (const [what, figure] of Object.entries(rows))
    console.log(`  ${what.padEnd(42)}${figure.padStart(12)}`);
}

const none = new HookManager();

/**
 * One dispatch of each of a turn's four events. Each event's payload has its own shape; measured with one shape only, V8 would be
 * faster than in any real run.
 */
function turn(manager: HookManager): () => void {
  const { LLM_START, LLM_END, TOOL_START, TOOL_END } = HookEvent;
  let at = 0;
  for (const event of [LLM_START, LLM_END, TOOL_START, TOOL_END]) {
    manager.on(event, (told) => {
      at = told.at + 1;
    });
  }
  const { agentName, agentId, runId, execId, sessionId, key, provider, model, usage } = llmEnd();
  const base = () => ({ agentName, agentId, runId, execId, sessionId, at });
  const tool = { key: "tool:1:0", toolName: "search", callId: "c1" };
  return () => {
    void manager.dispatch(LLM_START, { ...base(), key, provider, model, messageCount: 2 });
    const ended = { status: "ok", durationMs: 3 } as const;
    void manager.dispatch(LLM_END, { ...base(), key, provider, model, usage, costUsd: 0.002, ...ended });
    void manager.dispatch(TOOL_START, { ...base(), ...tool });
    void manager.dispatch(TOOL_END, { ...base(), ...tool, ...ended });
  };
}

/** Measures processor time, since other processes may be using the machine. */
function perCall(act: () => void, calls = CALLS): string {
  const warm = performance.now() + WARM_UP_MS;
  while (performance.now() < warm) for (let n = 0; n < 1_000; n++) act();
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.cpuUsage();
    for (let n = 0; n < calls; n++) act();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1_000);
  }
  return nanoseconds(best / calls);
}

/** In batches, as in a run: many dispatches, then one drain. */
async function perDrained(manager: HookManager, payload: HookPayloads["llm_end"]): Promise<string> {
  const batch = 1_000;
  let best = Infinity;
  for (let round = 0; round < ROUNDS * 5; round++) {
    const start = performance.now();
    for (let n = 0; n < batch; n++) void manager.dispatch(HookEvent.LLM_END, payload);
    await manager.drain();
    best = Math.min(best, performance.now() - start);
  }
  return nanoseconds(best / batch);
}

function nanoseconds(milliseconds: number): string {
  return `${(milliseconds * 1e6).toFixed(1)} ns`;
}

function llmEnd(): HookPayloads["llm_end"] {
  const runId = RunId("run-1");
  return {
    agentName: "lead",
    agentId: AgentId("lead"),
    runId,
    execId: ExecId(runId),
    sessionId: SessionId("session-1"),
    at: 1,
    key: "llm:small#1",
    provider: "acme",
    model: "small",
    status: "ok",
    usage: { inputTokens: 1200, outputTokens: 300 },
    costUsd: 0.002,
    durationMs: 800,
  };
}
