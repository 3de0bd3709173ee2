import type { ToolResult } from "../agent/leaves.ts";
import type { AgentResult } from "../agent/agent.ts";
import type { RunScope } from "../agent/scope.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonValue } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { LLMClient, ModelEvent, ModelRequest, ModelResponse } from "../model/llm.ts";
import type { Tool } from "../model/tool.ts";
import type { RunMeta } from "../run/run-meta.ts";
import type { Hooks } from "./hooks.ts";

export type MiddlewareLevel = "agent" | "chat" | "function";

/** Goes inward. Once: a layer that repeats (a retry) uses `again`, so that a second `next()` is known to be a mistake. */
export interface Next {
  (): Promise<void>;
  again(): Promise<void>;
}

/** What `admit` may ask for before anything is begun. */
export interface Gate {
  /**
   * Suspends durably until somebody delivers an answer under that name (`"approval:…"`), and gives it. `tell` says how people
   * hear of the question: it is called when they have to be asked, and not where the answer is on record.
   */
  require(name: string, question?: JsonValue, tell?: () => void): Promise<JsonValue>;
}

/** A layer around every run, model call or tool call. */
export interface Middleware<C> {
  readonly level: MiddlewareLevel;
  /** For messages and traces; the class's or function's name otherwise. */
  readonly name?: string | undefined;
  /** Around the call: not calling `next` short-circuits, throwing `MiddlewareTermination` aborts. Not run on replay. */
  process?(context: C, next: Next): Promise<void>;
  /** Before the call is begun: may wait durably, or refuse by setting `result`. Run again on replay. */
  admit?(context: C, gate: Gate): MaybePromise<void>;
}

/** A layer, or its `process` alone. */
export type Layer<C> = Middleware<C> | ((context: C, next: Next) => Promise<void>);

/** One for each call: its `admit` and every attempt at it get the same object. */
interface LevelContext {
  readonly agentName: string;
  readonly runId: string;
  readonly meta: RunMeta;
  /** For whom the run works; absent outside a run. */
  readonly scope?: RunScope | undefined;
  readonly hooks: Hooks;
  readonly clock: Clock;
  /**
   * What the call inside gets; a layer may replace it by one that aborts earlier. The core reads it at its start, and throws
   * if it has aborted by the time the answer comes: a late answer must not replace that of a newer attempt.
   */
  signal: AbortSignalLike;
}

/** Around one agent's run. */
export interface AgentRunContext extends LevelContext {
  readonly sessionId: string;
  input: string;
  result: AgentResult | undefined;
}

/** Around one model call. */
export interface ChatContext extends LevelContext {
  /** The key of the call in its execution; absent outside a run. */
  readonly key?: string | undefined;
  readonly systemInstructions: string;
  /** Replaced by Fallback. */
  model: LLMClient;
  request: ModelRequest;
  result: ModelResponse | undefined;
  /** A model call of the layer's own (a judge's), from the same ledger. */
  call(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
  /** Changes streamed events before anybody sees them. The one added last, the innermost, sees an event first. */
  addTransform(transform: StreamTransform): void;
}

/**
 * Changes what is streamed. It may hold back text that it cannot judge yet; `flush` gives the rest at the end of an attempt.
 * It is called after a failed attempt too, and what it gives then is dropped.
 */
export interface StreamTransform {
  push(event: ModelEvent): readonly ModelEvent[];
  flush(): readonly ModelEvent[];
}

/** Around one tool call. */
export interface FunctionContext extends LevelContext {
  /** The key of the call in its execution; absent outside a run. */
  readonly key?: string | undefined;
  readonly functionName: string;
  readonly callId: string;
  readonly tool: Tool;
  /** Checked against the tool's schema again after a layer changed it. */
  arguments: unknown;
  result: ToolResult | undefined;
}

/** One way inward through a pipeline. */
interface WayIn {
  /** Somebody further out no longer waits for it: nothing new may be begun, and nothing paid. */
  isGivenUp(): boolean;
}

/** Layers put together. `isNoop` says that there are none, and then nobody calls it. */
export interface Pipeline<C> {
  readonly isNoop: boolean;
  /** False says that no layer has an `admit`, so that nothing is made ready for one. */
  readonly hasAdmits?: boolean | undefined;
  admit(context: C, gate: Gate): MaybePromise<void>;
  /** The core is told by which way it is called; where it is a pipeline too, that one is `run` with it. */
  run(context: C, core: (way?: WayIn | void) => Promise<void>, way?: WayIn): Promise<void>;
  /** `run` for a core that may be done at once. No promise where neither the core nor a layer makes one. */
  runDirect?(context: C, core: (way?: WayIn | void) => MaybePromise<void>, way?: WayIn): MaybePromise<void>;
}

/** What an agent (or a runtime) takes: a pipeline for each level that it wants. */
export interface Pipelines {
  readonly agent?: Pipeline<AgentRunContext> | undefined;
  readonly chat?: Pipeline<ChatContext> | undefined;
  readonly function?: Pipeline<FunctionContext> | undefined;
}
