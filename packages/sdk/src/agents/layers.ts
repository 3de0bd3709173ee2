import type {
  AgentRunContext,
  ChatContext,
  FunctionContext,
  Layer,
  MiddlewareLevel,
  Pipeline,
  Pipelines,
} from "@ravi/kernel";
import { checkFields, InvalidValueError } from "@ravi/kernel";
import { asOwn, hasMethod } from "@ravi/kernel/loop";
import { MiddlewarePipeline } from "@ravi/middleware";

/** Layers by level, the first outermost: a list of them, or a pipeline that is put together already. */
export interface Layers {
  readonly agent?: LevelLayers<AgentRunContext> | undefined;
  readonly chat?: LevelLayers<ChatContext> | undefined;
  readonly function?: LevelLayers<FunctionContext> | undefined;
}

const LEVELS = ["agent", "chat", "function"] as const satisfies readonly (keyof Layers)[];

type LevelLayers<C> = readonly Layer<C>[] | Pipeline<C>;

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
 * A layer around all others. A pipeline is run inside of it as it is, and not as one layer more: what gives up on a call in
 * there and begins another would have to wait for the first.
 */
export function around(
  outermost: Layer<ChatContext>,
  layers: LevelLayers<ChatContext> = [],
): Pipeline<ChatContext> {
  if (isList(layers)) return new MiddlewarePipeline([outermost, ...layers], { level: "chat" });
  const outer = new MiddlewarePipeline([outermost], { level: "chat" });
  return {
    isNoop: false,
    get hasAdmits() {
      return layers.hasAdmits;
    },
    admit: (context, gate) => layers.admit(context, gate),
    run: (context, core) => outer.run(context, () => layers.run(context, core)),
  };
}

/** Whether it tries failed calls again by itself; then nobody else should. */
export function hasRetry(layers: LevelLayers<ChatContext> | undefined): boolean {
  if (layers === undefined) return false;
  // The pipeline refuses what is no layer, and says which.
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
