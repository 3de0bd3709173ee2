import { type ExecId, HookEvent, type HookPayloads, type Hooks, type Logger, type Usage } from "@ravi/kernel";
import { bothHooks, guardedHooks } from "@ravi/kernel/loop";

/** One model or tool call of an agent, after it ended. */
export interface CallAccount {
  /** Its key in the journal, such as `llm:openai/gpt-5-mini#1` or `tool:1:0`. */
  readonly key: string;
  readonly kind: "llm" | "tool";
  /** `provider:model`, or the name of the tool. */
  readonly name: string;
  readonly status: "ok" | "error";
  readonly durationMs: number;
  /** Only of a model call. */
  readonly usage?: Usage | undefined;
  /** US dollars, only of a model call; null if the price is not known. */
  readonly costUsd?: number | null | undefined;
}

/** The calls of a run, by agent. */
export interface Calls {
  /** The calls of one agent, in the order in which they ended. */
  of(execId: ExecId): readonly CallAccount[];
  /** The number of calls that were not kept. */
  readonly dropped: number;
}

/** Calls beyond this number are counted but not kept, so that a run of several days does not fill the memory. */
const MOST_CALLS = 10_000;

/** Records which agent made which calls, from the hooks of the run. */
export class CallLog implements Calls {
  /** By key, because a run that is restarted from its journal reports its earlier calls again. */
  private readonly calls = new Map<ExecId, Map<string, CallAccount>>();
  private kept = 0;
  dropped = 0;
  /** Of each agent, how many were not kept: since it started last, and at most. A restart reports them again, from the first. */
  private readonly droppedOf = new Map<ExecId, { now: number; most: number }>();

  of(execId: ExecId): readonly CallAccount[] {
    return [...(this.calls.get(execId)?.values() ?? [])];
  }

  /**
   * Hooks that record calls here and then call the user's hooks. Errors of those go to the logger, as they would if the runtime
   * called them directly.
   */
  listeningWith(others: Hooks | undefined, logger?: Logger): Hooks {
    const own: Hooks = {
      has: (event) =>
        event === HookEvent.LLM_END || event === HookEvent.TOOL_END || event === HookEvent.RUN_START,
      dispatch: (event, payload) => {
        if (event === HookEvent.RUN_START) this.startAgain(payload.execId);
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
      this.drop(execId);
      return;
    }
    calls.set(call.key, call);
    this.calls.set(execId, calls);
    if (isNew) this.kept++;
  }

  private drop(execId: ExecId): void {
    const count = this.droppedOf.get(execId) ?? { now: 0, most: 0 };
    this.droppedOf.set(execId, count);
    if (++count.now <= count.most) return;
    count.most = count.now;
    this.dropped++;
  }

  private startAgain(execId: ExecId): void {
    const count = this.droppedOf.get(execId);
    if (count !== undefined) count.now = 0;
  }
}
