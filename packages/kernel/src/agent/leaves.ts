import type { RaviError } from "../errors/base.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "../model/llm.ts";
import type { ContentPart, ToolCall } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { Tool } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { HistoryRetention, Priority } from "../policy/scales.ts";
import type { Agent, AgentResult } from "./agent.ts";
import type { RunHandle, StoppedBy } from "./handle.ts";

/** One thing to do, as data. Leaves of a batch run at once. */
export type Leaf = LlmLeaf | ToolLeaf | HireLeaf;

export interface LlmLeaf {
  readonly kind: "llm";
  readonly model: LLMClient;
  readonly request: ModelRequest;
  readonly wrapUp?: boolean | undefined;
}

export interface ToolLeaf<R = unknown> {
  readonly kind: "tool";
  readonly call: ToolCall;
  readonly tool: Tool<unknown, R>;
  /** Checks the arguments where the tool has a raw JSON Schema. Default: the context's. */
  readonly validator?: JsonSchemaValidator | undefined;
  /**
   * Told what the call gave as soon as it is there, while others of its batch still run; also of what is on record. Must not
   * throw. Whoever cannot tell earlier tells nothing: the outcome says it too.
   */
  readonly onResult?: ((result: ToolResult<R>) => void) | undefined;
}

export interface HireLeaf<T = unknown> {
  readonly kind: "hire";
  readonly agent: Agent<T>;
  readonly input: string;
  readonly priority?: Priority | undefined;
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  readonly retention?: HistoryRetention | undefined;
  /**
   * How long its parent waits for it, from its begin on: what the layers around the agent do in their `admit` comes before that. Not
   * for `spawn`, after which nobody waits: `executionBudget.deadlineS` limits the child itself.
   */
  readonly timeoutS?: number | undefined;
  /** What happens to a child that is not done in time. Default: cancel. */
  readonly onTimeout?: "cancel" | "leave" | undefined;
  /** What a child does that loses its slot. Default: park, and go on later. */
  readonly onPreempt?: "park" | "return" | undefined;
  /** What happens when every slot is taken. Default: deny. */
  readonly onFull?: "deny" | "queue" | undefined;
}

/** What a tool gave, ready for the model. A tool's own failure is a result with `isError`, not an exception. */
export interface ToolResult<R = unknown> {
  readonly content: string | readonly ContentPart[];
  readonly isError: boolean;
  /** What the tool returned; undefined after an error, and after a replay when it was not plain JSON or a layer told something else. */
  readonly value?: R | undefined;
}

export type LlmOutcome =
  | { readonly status: "completed"; readonly response: ModelResponse }
  | { readonly status: "failed" | "cancelled"; readonly error: RaviError };

export type ToolOutcome<R = unknown> =
  | { readonly status: "completed"; readonly result: ToolResult<R> }
  | { readonly status: "failed" | "cancelled"; readonly error: RaviError };

/** What a hire took, whatever came of it. Absent where a host does not count. */
export interface HireUsage {
  /** Of the child and of all below it; of one that lives on, until now. */
  readonly usage?: Usage | undefined;
  /** Dollars; null when a call had no known price. */
  readonly costUsd?: number | null | undefined;
  /** Which limit cut it off, where its `stopReason` is `budget`. */
  readonly stoppedBy?: StoppedBy | undefined;
}

export type HireOutcome<T = unknown> = HireUsage &
  (
    | { readonly status: "completed" | "partial" | "paused"; readonly result: AgentResult<T> }
    | { readonly status: "denied" | "failed" | "cancelled"; readonly error: RaviError }
    /** The child lives on: join it, or cancel it. */
    | { readonly status: "timedOut"; readonly handle: RunHandle<T> }
  );

export type Outcome = HireOutcome | ToolOutcome | LlmOutcome;

/** What comes of a leaf of that kind. */
export type OutcomeOf<L> =
  L extends HireLeaf<infer T>
    ? HireOutcome<T>
    : L extends ToolLeaf<infer R>
      ? ToolOutcome<R>
      : L extends LlmLeaf
        ? LlmOutcome
        : Outcome;

/** Of several leaves, each at its place. */
export type OutcomesOf<L extends readonly Leaf[]> = { -readonly [K in keyof L]: OutcomeOf<L[K]> };
