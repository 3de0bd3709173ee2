import { type ExecId, HookEvent, type HookPayloads, type Hooks, type Logger, type Usage } from "@ravi/kernel";
import { bothHooks, guardedHooks } from "@ravi/kernel/loop";

/** One model or tool call of an agent, as it ended. */
export interface CallAccount {
  /** Its key in the journal: `llm:openai/gpt-5-mini#1`, `tool:1:0`. */
  readonly key: string;
  readonly kind: "llm" | "tool";
  /** `provider:model`, or the tool. */
  readonly name: string;
  readonly status: "ok" | "error";
  readonly durationMs: number;
  /** Of a model call. */
  readonly usage?: Usage | undefined;
  /** Dollars; null when the price is not known. */
  readonly costUsd?: number | null | undefined;
}

/** Calls beyond it are counted and not kept, so that a run of days does not fill the memory. */
const MOST_CALLS = 10_000;

/** Writes down who called what, from the run's own hooks. */
export class CallLog {
  /** By key: a run that was started again from its journal tells what it did before once more. */
  private readonly calls = new Map<ExecId, Map<string, CallAccount>>();
  private kept = 0;
  /** How many calls were not kept. */
  dropped = 0;

  of(execId: ExecId): readonly CallAccount[] {
    return [...(this.calls.get(execId)?.values() ?? [])];
  }

  /** Hooks that write here, and tell the user's own. What those throw is told to the log, as a runtime does that is given them alone. */
  listeningWith(others: Hooks | undefined, logger?: Logger): Hooks {
    const own: Hooks = {
      has: (event) => event === HookEvent.LLM_END || event === HookEvent.TOOL_END,
      dispatch: (event, payload) => {
        if (event === HookEvent.LLM_END) this.addModelCall(payload as HookPayloads["llm_end"]);
        if (event === HookEvent.TOOL_END) this.addToolCall(payload as HookPayloads["tool_end"]);
      },
    };
    return bothHooks(own, others && guardedHooks(others, logger));
  }

  private addModelCall(payload: HookPayloads["llm_end"]): void {
    const { execId, key, provider, model, status, durationMs, usage, costUsd } = payload;
    this.add(execId, {
      key,
      kind: "llm",
      name: `${provider}:${model}`,
      status,
      durationMs,
      usage,
      costUsd,
    });
  }

  private addToolCall({ execId, key, toolName, status, durationMs }: HookPayloads["tool_end"]): void {
    this.add(execId, { key, kind: "tool", name: toolName, status, durationMs });
  }

  private add(execId: ExecId, call: CallAccount): void {
    const calls = this.calls.get(execId) ?? new Map<string, CallAccount>();
    const isNew = !calls.has(call.key);
    if (isNew && this.kept >= MOST_CALLS) {
      this.dropped++;
      return;
    }
    calls.set(call.key, call);
    this.calls.set(execId, calls);
    if (isNew) this.kept++;
  }
}
