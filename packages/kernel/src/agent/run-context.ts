import type { AgentId, ExecId } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { BudgetExhaustedError } from "../errors/errors.ts";
import type { LLMClient, ModelRequest, ModelResponse, ToolSpec } from "../model/llm.ts";
import type { Attachment, ChatMessage, ToolCall } from "../model/messages.ts";
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
import type { HireLeaf, HireOutcome, Leaf, LlmOptions, OutcomesOf, ToolResult } from "./leaves.ts";
import type { RunScope } from "./scope.ts";

/** Lets `hire` and `spawn` take a leaf that was made for a batch. */
type MaybeHire = { readonly kind?: HireLeaf["kind"] | undefined };

/** The least that a loop needs to know of its history. */
export interface AgentContext {
  readonly agentId: AgentId;
  getPromptWindow(sessionId: string): MaybePromise<readonly ChatMessage[]>;
}

/**
 * Everything that an agent can do. The context enforces the rules (budget, headcount, deadline, cancellation), so an agent that
 * works through it cannot break them.
 *
 * An agent does one operation at a time: await each, or put several into one `batch`. A second operation beside a running one
 * throws a `LaneViolationError`, since a replay could not tell their results apart. Concurrent work of several steps is a child.
 */
export interface RunContext {
  readonly agentId: AgentId;
  readonly execId: ExecId;
  readonly meta: RunMeta;
  readonly supervision: Supervision;
  readonly scope: RunScope;
  readonly hooks: Hooks;
  readonly signal: AbortSignalLike;
  /** What this agent may still spend. */
  readonly budget: Remaining;
  /** What is remembered beyond one conversation, separately for each `scope.userId`. Absent if none was configured. */
  readonly memory?: Memory | undefined;
  /** Checks raw JSON Schemas. Absent if none was configured. */
  readonly validator?: JsonSchemaValidator | undefined;
  /**
   * False if permissions are asked here: to them, an agent that works in this one's slot (see `hireAll`) would be this one, and so have its
   * rights. Default: true.
   */
  readonly lendsSlot?: boolean | undefined;

  /**
   * Makes one model call. Throws a `BudgetExhaustedError` if it does not fit into the budget, and the provider's error if it fails.
   * With `wrapUp` it may use the part of the budget that is held back for a last turn. With `quiet` observers are not told the answer.
   * With `retried` no layer makes a failed call again, because the agent does.
   */
  llm(model: LLMClient, request: ModelRequest, options?: LlmOptions): Promise<ModelResponse>;
  /** Makes one tool call. Bad arguments and a failing tool give a result with `isError`; only the rules throw. */
  tool<R>(call: ToolCall, tool: Tool<unknown, R>): Promise<ToolResult<R>>;
  /** Runs a child to its end. If it is denied, fails or is cancelled, the outcome says so; that does not throw. */
  hire<T>(leaf: Omit<HireLeaf<T>, "kind"> & MaybeHire): Promise<HireOutcome<T>>;
  /** Runs several leaves concurrently and gives their outcomes in the same order. Rejects only if the batch itself is not allowed. */
  batch<const L extends readonly Leaf[]>(leaves: L): Promise<OutcomesOf<L>>;

  /** Starts a child that runs beside this agent. Throws if it is denied. A child that still runs when this agent ends is cancelled. */
  spawn<T>(agent: Agent<T>, options: Omit<HireLeaf<T>, "kind" | "agent"> & MaybeHire): Promise<RunHandle<T>>;
  /** Waits for the end of a child of this agent. */
  join<T>(handle: RunHandle<T>): Promise<HireOutcome<T>>;
  /**
   * Sends a message to a running child, with pictures and files if some are given, and waits for its reply. Throws a `ToolError` if
   * the child ends or `timeoutS` passes without one. As with a hire, the time in which the child waits for an answer from outside, or for
   * money that other calls have reserved, does not count.
   */
  ask(
    handle: RunHandle,
    message: JsonValue,
    options?: {
      readonly timeoutS?: number | undefined;
      readonly attachments?: readonly Attachment[] | undefined;
    },
  ): Promise<JsonValue>;

  /** Waits for `runtime.deliver(runId, name, value)`, also across restarts. A value that was delivered early is kept for it. */
  waitFor(name: string): Promise<JsonValue>;
  /** Waits until that time, in epoch milliseconds, also across restarts. */
  sleepUntil(time: number): Promise<void>;

  /**
   * The messages for the next model call: system prompt, compacted history, and what this run has added. The list grows with
   * `remember`.
   */
  window(options?: WindowOptions): MaybePromise<readonly ChatMessage[]>;
  /** Adds a message to the window and, if it is retained, to the history. */
  remember(message: ChatMessage): MaybePromise<void>;

  /**
   * Asks somebody to raise the limit that refused a call, and waits for the answer, also across restarts. It is delivered under the
   * name `approval:budget:<execId>`: an amount (`{ tokens?, cost?, turns?, toolCalls? }`), which is added to the limits of this agent
   * and those above it, or `false`. For any other answer it asks again. Gives whether more was granted. Absent, or false at once, if
   * the limits cannot be raised.
   */
  requestBudget?(refusal: BudgetExhaustedError): Promise<boolean>;

  /** Publishes an event of the run. Throws an `InvalidValueError` if its data cannot be written as JSON. */
  emit(event: AgentEvent): void;

  /**
   * Keeps the best answer so far. It becomes the output if the agent is cut off because a call or a tool does not stop in time. Without
   * it, that is the last text that the agent has said in this run. A later draft replaces an earlier one.
   */
  draft?(text: string): void;

  /**
   * Records a value that would not be the same in a replay, such as what was read from outside. `make` is called once; a replay
   * gives the recorded value. If `make` throws, that is recorded as well, unless the run was stopped, and a replay throws the same.
   * Throws an `InvalidValueError` if the value is not plain JSON.
   *
   * `make` must not use the context, and should have no side effects: after a crash before it was recorded, it is called again.
   */
  record(name: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue>;

  /** Epoch milliseconds. In a replay `now`, `random` and `uuid` give the same as before. */
  now(): MaybePromise<number>;
  random(): MaybePromise<number>;
  uuid(): MaybePromise<string>;

  /** Call it in long loops: it throws if the run is cancelled or out of time, and waits while this agent is paused. */
  check(): MaybePromise<void>;
}

export interface WindowOptions {
  /** How many tokens the model can read, for a compaction strategy. */
  readonly contextWindow?: number | undefined;
  readonly system?: string | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  /** Messages that every request has in addition to the window. A compaction strategy counts them, but cannot shorten them. */
  readonly alsoSent?: readonly ChatMessage[] | undefined;
}
