import type { AgentId, ExecId } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { BudgetExhaustedError } from "../errors/errors.ts";
import type { LLMClient, ModelRequest, ModelResponse, ToolSpec } from "../model/llm.ts";
import type { ChatMessage, ToolCall } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { Tool } from "../model/tool.ts";
import type { Supervision } from "../policy/supervision.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { Remaining } from "../ports/ledger.ts";
import type { Memory } from "../ports/services.ts";
import type { RunMeta } from "../run/run-meta.ts";
import type { Agent } from "./agent.ts";
import type { AgentEvent } from "./events.ts";
import type { RunHandle } from "./handle.ts";
import type {
  HireLeaf,
  HireOutcome,
  Leaf,
  LlmLeaf,
  LlmOutcome,
  Outcome,
  OutcomesOf,
  ToolLeaf,
  ToolOutcome,
  ToolResult,
} from "./leaves.ts";
import type { RunScope } from "./scope.ts";

/** A leaf made for a batch fits a hire of its own too. */
interface MaybeHire {
  readonly kind?: HireLeaf["kind"] | undefined;
}

/** The minimal view that a loop has of its history (R10). */
export interface AgentContext {
  readonly agentId: AgentId;
  getPromptWindow(sessionId: string): MaybePromise<readonly ChatMessage[]>;
}

/**
 * All that an agent can do. The rules (budget, headcount, deadline, cancellation, one lane) are enforced in here, so an
 * agent that works through its context cannot break them.
 *
 * One lane: operations are awaited one after the other, or put into one `batch`. Anything concurrent that has several
 * steps is a child.
 */
export interface RunContext {
  readonly agentId: AgentId;
  readonly execId: ExecId;
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly scope: RunScope;
  readonly hooks: Hooks;
  readonly signal: AbortSignalLike;
  /** What is left to this agent. */
  readonly budget: Remaining;
  /** What is known beyond one conversation, where the composition has given one; partitioned by `scope.userId`. */
  readonly memory?: Memory | undefined;
  /** Checks raw JSON Schemas, where the composition has given one. */
  readonly validator?: JsonSchemaValidator | undefined;

  /** One model call. `wrapUp` may spend the held-back reserve of the last turn. */
  llm(
    model: LLMClient,
    request: ModelRequest,
    options?: { readonly wrapUp?: boolean | undefined },
  ): Promise<ModelResponse>;
  /** One tool call. Bad arguments and a failing tool are results with `isError`; only the rules throw. */
  tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>>;
  /** A seat, then the child's whole run. Never throws for the child's fate. */
  hire<T>(leaf: Omit<HireLeaf<T>, "kind"> & MaybeHire): Promise<HireOutcome<T>>;
  /** Leaves at once; an outcome for each, in the order asked. Rejects for no fate of theirs, only where the batch itself may not be. */
  batch<T>(leaves: readonly HireLeaf<T>[]): Promise<HireOutcome<T>[]>;
  batch<R>(leaves: readonly ToolLeaf<R>[]): Promise<ToolOutcome<R>[]>;
  batch(leaves: readonly LlmLeaf[]): Promise<LlmOutcome[]>;
  batch<const L extends readonly [Leaf, ...Leaf[]]>(leaves: L): Promise<OutcomesOf<L>>;
  batch(leaves: readonly (ToolLeaf | HireLeaf)[]): Promise<(ToolOutcome | HireOutcome)[]>;
  batch(leaves: readonly Leaf[]): Promise<Outcome[]>;

  /** Starts a child that lives beside this agent. Throws when it is denied a seat. */
  spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent"> & MaybeHire): Promise<RunHandle<T>>;
  join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>>;
  /** Says something to a living child and waits for its reply. */
  ask(
    handle: RunHandle,
    message: JsonValue,
    options?: { readonly timeoutS?: number | undefined },
  ): Promise<JsonValue>;

  /** Waits durably for `runtime.deliver(runId, name, value)`; what came early is kept. */
  waitFor(name: string): Promise<JsonValue>;
  /** Epoch milliseconds. */
  sleepUntil(time: number): Promise<void>;

  /** The prompt window: system prompt, history after compaction, and what this run has added. A live, append-only list. */
  window(options?: WindowOptions): MaybePromise<readonly ChatMessage[]>;
  /** Adds to the window, and to the history as far as it is retained. */
  remember(message: ChatMessage): MaybePromise<void>;

  /**
   * Asks for more than the limit that has refused, durably and from any depth, under the name `approval:budget:<execId>`.
   * The answer is an amount (`{ tokens?, cost?, turns?, toolCalls? }`), which raises the limits here and above, or `false`;
   * one that is neither is asked for again. Absent, or false at once, where nothing can be raised.
   */
  requestBudget?(refusal: BudgetExhaustedError): Promise<boolean>;

  /** Publishes on the run's progress topic. */
  emit(event: AgentEvent): void;

  /**
   * The best answer so far, of an agent that does not keep it in its history: what it is cut off with where a call or a tool does not
   * stop in time. The last one counts.
   */
  draft?(text: string): void;

  /**
   * A fact of the agent's own, such as what it read from outside or chose by chance: made once, and read from the record ever
   * after. Plain JSON, or an `InvalidValueError`. That it could not be made is recorded too, unless the run was stopped: a replay
   * throws the same. `make` uses nothing of the context, and is no way to act on the world: after a crash before it was written
   * down, it is made again.
   */
  record(name: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue>;

  /** Recorded or seeded: a replay sees the same. */
  now(): MaybePromise<number>;
  random(): MaybePromise<number>;
  uuid(): MaybePromise<string>;

  /** The yield point: throws when cancelled or late, waits while paused. */
  check(): MaybePromise<void>;
}

export interface WindowOptions {
  readonly system?: string | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
}
