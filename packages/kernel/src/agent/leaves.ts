import type { MaybePromise } from "../core/types.ts";
import type { RaviError } from "../errors/base.ts";
import type { LLMClient, ModelRequest, ModelResponse } from "../model/llm.ts";
import type { Attachment, ContentPart, ToolCall } from "../model/messages.ts";
import type { JsonSchemaValidator } from "../model/schema.ts";
import type { Tool } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { ExecutionBudgetOptions } from "../policy/execution-budget.ts";
import type { HistoryRetention, Priority } from "../policy/scales.ts";
import type { Agent, AgentResult } from "./agent.ts";
import type { RunHandle, StoppedBy } from "./handle.ts";

/** One operation as data, for `ctx.batch`. The leaves of a batch run concurrently. */
export type Leaf = LlmLeaf | ToolLeaf | HireLeaf;

/** How a model call is made. Not part of what is asked: a recorded call is replayed whatever these are by then. */
export interface LlmOptions {
  /** Whether the call may use the part of the budget that is held back for a last turn. Default: false. */
  readonly wrapUp?: boolean | undefined;
  /**
   * Whether observers are not told the answer, because the agent does not say it: a plan, a score, a summary. What it has used is told.
   * Default: false.
   */
  readonly quiet?: boolean | undefined;
  /** Whether the agent itself makes a failed call again: then no layer does, because only one may. Default: false. */
  readonly retried?: boolean | undefined;
}

export interface LlmLeaf extends LlmOptions {
  readonly kind: "llm";
  readonly model: LLMClient;
  readonly request: ModelRequest;
}

export interface ToolLeaf<R = unknown> {
  readonly kind: "tool";
  readonly call: ToolCall;
  readonly tool: Tool<unknown, R>;
  /** Checks the arguments if the tool's schema is a raw JSON Schema. Default: the context's validator. */
  readonly validator?: JsonSchemaValidator | undefined;
  /**
   * Called with the result as soon as it is there, while other leaves of the batch still run, and in a replay too. Must not throw.
   * A host that knows the result only with the whole batch may not call it.
   */
  readonly onResult?: ResultListener<R>["tell"] | undefined;
}

/** Its method, so that a `ToolLeaf<string>` is assignable to `ToolLeaf`: it is called with the result of that leaf only. */
interface ResultListener<R> {
  tell(result: ToolResult<R>): void;
}

export interface HireLeaf<T = unknown> {
  readonly kind: "hire";
  readonly agent: Agent<T>;
  readonly input: string;
  /** Pictures and files that come with the input. Default: none, also if the parent has some: pass on its inbox's `attachments`. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Default: `NORMAL`. */
  readonly priority?: Priority | undefined;
  /** What the child may spend at most, out of its parent's budget. Default: no limit but the agent's own and its parent's. */
  readonly executionBudget?: ExecutionBudgetOptions | undefined;
  /** How long the child's history is kept. Default: as long as its run. */
  readonly retention?: HistoryRetention | undefined;
  /**
   * How long the parent waits for the child. The time starts after the `admit` of the layers around the child. It stands still while
   * the child has no slot, while it or anyone below it waits for an answer from outside (an approval, `waitFor`, a request for
   * budget) or for money that other calls have reserved, and while no process has the run (it is suspended, or its process died).
   * Refused by `spawn`, which does not wait: use `executionBudget.deadlineS` to limit the child itself. Default: no limit.
   */
  readonly timeoutS?: number | undefined;
  /** What happens to a child that has not ended after `timeoutS`. `leave` lets it run on; join it later. Default: `cancel`. */
  readonly onTimeout?: "cancel" | "leave" | undefined;
  /** What a child does when its slot is taken: wait for another one and continue, or return. Default: `park`. */
  readonly onPreempt?: "park" | "return" | undefined;
  /** What happens if no slot is free: the hire is denied, or waits. Default: `deny`. */
  readonly onFull?: "deny" | "queue" | undefined;
}

/** The result of a tool call, as the model gets it. A tool that fails gives a result with `isError`, not an exception. */
export interface ToolResult<R = unknown> {
  readonly content: string | readonly ContentPart[];
  readonly isError: boolean;
  /** What the tool returned. Undefined after an error, and in a replay if it was not plain JSON or a layer replaced the content. */
  readonly value?: R | undefined;
}

export type LlmOutcome =
  | { readonly status: "completed"; readonly response: ModelResponse }
  | { readonly status: "failed" | "cancelled"; readonly error: RaviError };

export type ToolOutcome<R = unknown> =
  | { readonly status: "completed"; readonly result: ToolResult<R> }
  | { readonly status: "failed" | "cancelled"; readonly error: RaviError };

/** What a hire has used, whatever its outcome. The fields are absent if the host does not count. */
export interface HireUsage {
  /** Of the child and everyone below it; if it still runs, until now. */
  readonly usage?: Usage | undefined;
  /** Dollars; null if the price of a call is not known. */
  readonly costUsd?: number | null | undefined;
  /** The limit that stopped it, if its `stopReason` is `budget`. */
  readonly stoppedBy?: StoppedBy | undefined;
}

export type HireOutcome<T = unknown> = HireUsage &
  (
    | { readonly status: "completed" | "partial" | "paused"; readonly result: AgentResult<T> }
    | { readonly status: "denied" | "failed" | "cancelled"; readonly error: RaviError }
    /** The child still runs: join it or cancel it. */
    | { readonly status: "timedOut"; readonly handle: RunHandle<T> }
  );

export type Outcome = HireOutcome | ToolOutcome | LlmOutcome;

/** The outcome of a leaf of that type. Told by what a leaf has, not by its interface: else two copies of the kernel would not fit together. */
export type OutcomeOf<L> = L extends {
  readonly agent: { run(ctx: never, inbox: never): Promise<{ readonly structured?: (infer T) | undefined }> };
}
  ? HireOutcome<T>
  : L extends { readonly tool: { execute(args: never, context: never): MaybePromise<infer R> } }
    ? ToolOutcome<R>
    : L extends { readonly kind: "llm" }
      ? LlmOutcome
      : Outcome;

/** The outcomes of a list of leaves, in the same order. */
export type OutcomesOf<L extends readonly Leaf[]> = { -readonly [K in keyof L]: OutcomeOf<L[K]> };
