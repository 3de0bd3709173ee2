import type { ToolResult } from "../agent/leaves.ts";
import type { AgentResult } from "../agent/agent.ts";
import type { RunScope } from "../agent/scope.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonValue } from "../core/json.ts";
import type { AbortSignalLike, MaybePromise } from "../core/types.ts";
import type { LLMClient, ModelEvent, ModelRequest, ModelResponse } from "../model/llm.ts";
import type { Attachment } from "../model/messages.ts";
import type { Tool } from "../model/tool.ts";
import type { RunMeta } from "../run/run-meta.ts";
import type { Hooks } from "./hooks.ts";

export type MiddlewareLevel = "agent" | "chat" | "function";

/** Calls the next layer, or the call itself. Only once: to repeat the call, use `again`. A second `next()` is an error. */
export interface Next {
  (): Promise<void>;
  /** Repeats the call after `next()` has settled, as a retry does. */
  again(): Promise<void>;
}

/** What a layer can wait for in its `admit`. */
export interface Gate {
  /**
   * Waits, also across restarts, until somebody delivers an answer under that name (`"approval:…"`), and returns it. `tell` is called
   * when somebody has to be asked, and not if the answer is already on record.
   */
  require(name: string, question?: JsonValue, tell?: () => void): Promise<JsonValue>;
}

/** A layer around every run, model call or tool call. */
export interface Middleware<C> {
  readonly level: MiddlewareLevel;
  /** Shown in messages and traces. Default: the name of its class or function. */
  readonly name?: string | undefined;
  /** The names of the tools that it guards, if it guards only some: a host can tell whether they are names of tools at all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Runs around the call, and not in a replay. Without a call of `next`, the call is not made and `context.result` is its result.
   * Throwing a `MiddlewareTermination` aborts.
   */
  process?(context: C, next: Next): Promise<void>;
  /** Runs before the call is recorded as begun, and again in a replay. May wait for an answer, or set `result` to prevent the call. */
  admit?(context: C, gate: Gate): MaybePromise<void>;
}

/** A layer, or only its `process` function. */
export type Layer<C> = Middleware<C> | ((context: C, next: Next) => Promise<void>);

/** What a layer knows of a call. `admit` and every attempt at the call get the same object. */
interface LevelContext {
  readonly agentName: string;
  readonly runId: string;
  readonly meta: RunMeta;
  /** Whom the run works for. Absent outside of a run. */
  readonly scope?: RunScope | undefined;
  readonly hooks: Hooks;
  readonly clock: Clock;
  /**
   * The signal of the call. A layer may replace it, before `next`, by one that aborts earlier. An answer that comes after it has
   * aborted is thrown away, so that it cannot replace that of a newer attempt.
   */
  signal: AbortSignalLike;
}

/** For layers around the run of an agent. */
export interface AgentRunContext extends LevelContext {
  readonly sessionId: string;
  input: string;
  /** Pictures and files that came with the input. */
  readonly attachments?: readonly Attachment[] | undefined;
  /**
   * Whether the run goes on from where it was stopped, and has done something before. One that was refused or still waited has not. Absent in
   * `admit` of a root, which comes before its begin.
   */
  readonly isResumed?: boolean | undefined;
  result: AgentResult | undefined;
}

/** For layers around a model call. */
export interface ChatContext extends LevelContext {
  /** The key of the call in the journal. Absent outside of a run. */
  readonly key?: string | undefined;
  readonly systemInstructions: string;
  /** A layer may replace it, as `fallback` does. */
  model: LLMClient;
  request: ModelRequest;
  result: ModelResponse | undefined;
  /** Whether a failed call is made again further out. A layer that retries sets it, and leaves a call alone of which it is true. */
  retried?: boolean | undefined;
  /**
   * For how many milliseconds it has waited for money that other calls have reserved. A layer that limits the time of a call does not count
   * that time: nothing was sent in it.
   */
  readonly waitedMs?: number | undefined;
  /** Makes another model call, such as a judge's, that is paid from the same budget. */
  call(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
  /** Adds a transform that changes streamed events before anybody sees them. The last one added sees each event first. */
  addTransform(transform: StreamTransform): void;
}

/** Changes what is streamed. */
export interface StreamTransform {
  /** Gives the events to pass on. It may hold back text until it has seen enough of it. */
  push(event: ModelEvent): readonly ModelEvent[];
  /** Gives what was held back. Called at the end of each attempt; after a failed one its events are dropped. */
  flush(): readonly ModelEvent[];
}

/** For layers around a tool call. */
export interface FunctionContext extends LevelContext {
  /** The key of the call in the journal. Absent outside of a run. */
  readonly key?: string | undefined;
  readonly functionName: string;
  readonly callId: string;
  readonly tool: Tool;
  /** A layer may replace them; they are then checked against the tool's schema again. */
  arguments: unknown;
  result: ToolResult | undefined;
}

/** One passage through a pipeline. */
export interface OuterCall {
  /** Whether a layer further out has stopped waiting for it. Nothing new may be started or paid then. */
  isGivenUp(): boolean;
}

/** The layers of one level. */
export interface Pipeline<C> {
  /** True if there are no layers. Its methods are not called then. */
  readonly isNoop: boolean;
  /** False if no layer has an `admit`. Default: true. */
  readonly hasAdmits?: boolean | undefined;
  /** The level that its layers are for. It is refused at any other: a guard that is asked about something else guards nothing. */
  readonly level?: MiddlewareLevel | undefined;
  /** The names of the tools that its layers guard. */
  readonly tools?: readonly string[] | undefined;
  /** Runs the `admit` of each layer, from the outside in, until one sets `result`. */
  admit(context: C, gate: Gate): MaybePromise<void>;
  /**
   * Runs the layers around `core`. `core` is called with the passage that it belongs to; if it runs another pipeline, it gives that
   * as `outer`.
   */
  run(context: C, core: (outer?: OuterCall | void) => Promise<void>, outer?: OuterCall): Promise<void>;
  /** Like `run`, for a core that need not return a promise. Returns none itself if neither the core nor a layer makes one. */
  runDirect?(
    context: C,
    core: (outer?: OuterCall | void) => MaybePromise<void>,
    outer?: OuterCall,
  ): MaybePromise<void>;
}

/** The middleware of an agent or a runtime: a pipeline for each level that has any. */
export interface Pipelines {
  readonly agent?: Pipeline<AgentRunContext> | undefined;
  readonly chat?: Pipeline<ChatContext> | undefined;
  readonly function?: Pipeline<FunctionContext> | undefined;
}
