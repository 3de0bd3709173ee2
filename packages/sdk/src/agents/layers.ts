import type {
  AgentRunContext,
  ChatContext,
  FunctionContext,
  Gate,
  Layer,
  MaybePromise,
  MiddlewareLevel,
  Pipeline,
  Pipelines,
} from "@ravi/kernel";
import { checkFields, InvalidValueError } from "@ravi/kernel";
import { asOwn, hasMethod } from "@ravi/kernel/loop";
import { MiddlewarePipeline } from "@ravi/middleware";

/** Middleware by level, the first layer outermost. Each level is a list of layers, or a pipeline that you have built already. */
export interface Layers {
  /** Around the run of an agent. */
  readonly agent?: readonly Layer<AgentRunContext>[] | Pipeline<AgentRunContext> | undefined;
  /** Around each model call. */
  readonly chat?: readonly Layer<ChatContext>[] | Pipeline<ChatContext> | undefined;
  /** Around each tool call. */
  readonly function?: readonly Layer<FunctionContext>[] | Pipeline<FunctionContext> | undefined;
}

const LEVELS = ["agent", "chat", "function"] as const satisfies readonly (keyof Layers)[];

type LevelLayers<C> = readonly Layer<C>[] | Pipeline<C>;

/**
 * Throws an `InvalidValueError` if a level is unknown, or is neither a list nor a pipeline. The layers themselves are checked
 * by `MiddlewarePipeline`.
 */
export function checkLayers(field: string, layers: Layers): Layers {
  checkFields(field, layers, LEVELS);
  const own = asOwn(layers, LEVELS);
  for (const [level, given] of Object.entries(own) as [string, unknown][]) {
    if (given === undefined || Array.isArray(given) || hasMethod(given, "run")) continue;
    const expected = "a list of layers, or a pipeline such as a MiddlewarePipeline of @ravi/middleware";
    throw new InvalidValueError({ field: `${field}.${level}`, value: given, expected });
  }
  return own;
}

/** Builds a pipeline for each level that has layers. Undefined if there are none at all. */
export function pipelinesOf(field: string, layers: Layers | undefined): Pipelines | undefined {
  if (layers === undefined) return undefined;
  const { agent, chat, function: tools } = checkLayers(field, layers);
  return {
    ...(agent !== undefined && { agent: pipelineOf(agent, "agent") }),
    ...(chat !== undefined && { chat: pipelineOf(chat, "chat") }),
    ...(tools !== undefined && { function: pipelineOf(tools, "function") }),
  };
}

/**
 * Puts one layer around all others. A ready-made pipeline is called from inside that layer rather than added to the list as one
 * more layer: a layer of the pipeline that abandons a call and begins another would otherwise have to wait for the first one.
 */
export function around(
  outermost: Layer<ChatContext>,
  layers: LevelLayers<ChatContext> = [],
): Pipeline<ChatContext> {
  if (isList(layers)) {
    // Checked without the outermost one first, so that an error counts the layers as the user does.
    if (layers.length > 0) pipelineOf(layers, "chat");
    return new MiddlewarePipeline([outermost, ...layers], { level: "chat" });
  }
  return new AroundPipeline(outermost, layers);
}

/** A layer around a ready-made pipeline. */
class AroundPipeline implements Pipeline<ChatContext> {
  readonly isNoop = false;
  private readonly outer: Pipeline<ChatContext>;
  private readonly inner: Pipeline<ChatContext>;

  constructor(outermost: Layer<ChatContext>, inner: Pipeline<ChatContext>) {
    this.outer = new MiddlewarePipeline([outermost], { level: "chat" });
    this.inner = inner;
  }

  get level(): MiddlewareLevel | undefined {
    return this.inner.level;
  }

  get hasAdmits(): boolean | undefined {
    return this.inner.hasAdmits;
  }

  admit(context: ChatContext, gate: Gate): MaybePromise<void> {
    return this.inner.admit(context, gate);
  }

  run(...[context, core, further]: Parameters<Pipeline<ChatContext>["run"]>): Promise<void> {
    return this.outer.run(context, (passage) => this.inner.run(context, core, passage ?? undefined), further);
  }
}

/** Whether the layers include a retry, in which case no other layer may retry. */
export function hasRetry(layers: LevelLayers<ChatContext> | undefined): boolean {
  if (layers === undefined) return false;
  // What is not a layer is ignored here: the pipeline refuses it later, and says which one it is.
  if (isList(layers)) return layers.some((layer?: Layer<ChatContext> | null) => layer?.name === RETRY);
  return "names" in layers && Array.isArray(layers.names) && layers.names.includes(RETRY);
}

const RETRY = "retry";

function pipelineOf<C extends { result: unknown }>(
  layers: LevelLayers<C>,
  level: MiddlewareLevel,
): Pipeline<C> {
  return isList(layers) ? new MiddlewarePipeline(layers, { level }) : layers;
}

function isList<C>(layers: LevelLayers<C>): layers is readonly Layer<C>[] {
  return Array.isArray(layers);
}
