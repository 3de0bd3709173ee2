import {
  checkFields,
  type Gate,
  type Layer,
  type MaybePromise,
  type Middleware,
  type MiddlewareLevel,
  type Next,
  type OuterCall,
  type Pipeline,
  InvalidValueError,
  isPromiseLike,
} from "@ravi/kernel";
import { type Link, runLayers } from "./common/chain.ts";
import { checkLayers, layerName, LEVELS } from "./common/checks.ts";
import { checkWord } from "./common/options.ts";
import type { WithResult } from "./types.ts";

type Admit<C> = (context: C, gate: Gate) => MaybePromise<void>;

/** A pipeline's layers, sorted once by what they implement. */
interface Plan<C> {
  readonly layers: readonly Layer<C>[];
  readonly level: MiddlewareLevel | undefined;
  readonly links: readonly Link<C>[];
  readonly admits: readonly Admit<C>[];
}

export interface MiddlewarePipelineOptions {
  /** The level of its layers. Default: that of the first layer that has one. */
  readonly level?: MiddlewareLevel | undefined;
}

/** A list of layers, the first one outermost. `use` affects only calls that begin after it; a call in flight keeps its layers. */
export class MiddlewarePipeline<C extends WithResult> implements Pipeline<C> {
  private plan: Plan<C>;

  constructor(layers: readonly Layer<C>[] = [], options: MiddlewarePipelineOptions = {}) {
    if (!Array.isArray(layers)) {
      throw new InvalidValueError({ field: "layers", value: layers, expected: "an array of layers" });
    }
    const { level } = checkFields("MiddlewarePipeline options", options, ["level"]);
    if (level !== undefined && level !== null) checkWord("MiddlewarePipeline options.level", level, LEVELS);
    this.plan = planOf(layers, options.level);
  }

  /** Adds a layer inside of the others. */
  use(layer: Layer<C>): this {
    this.plan = planOf([...this.plan.layers, layer], this.plan.level);
    return this;
  }

  /** True if there are no layers. */
  get isNoop(): boolean {
    return this.plan.layers.length === 0;
  }

  /** Whether any layer has an `admit` method. */
  get hasAdmits(): boolean {
    return this.plan.admits.length > 0;
  }

  get level(): MiddlewareLevel | undefined {
    return this.plan.level;
  }

  /** The layers' names, from the outermost to the innermost. */
  get names(): readonly string[] {
    return this.plan.layers.map(layerName);
  }

  /** The names of the tools that its layers guard. */
  get tools(): readonly string[] {
    return this.plan.layers.flatMap((layer) => (typeof layer === "function" ? [] : (layer.tools ?? [])));
  }

  /** Calls each layer's `admit` in order, until one refuses by setting a result. Returns a promise only if a layer does. */
  admit(context: C, gate: Gate): MaybePromise<void> {
    const { admits } = this.plan;
    return admits.length === 0 ? undefined : admitFrom(admits, 0, context, gate);
  }

  /** Runs a call through the layers. */
  run(context: C, core: (outer?: OuterCall | void) => Promise<void>, outer?: OuterCall): Promise<void> {
    return Promise.resolve(runLayers(this.plan.links, context, core, outer));
  }

  /** Like `run`, for a core that may finish synchronously. Returns a promise only if the core or a layer makes one. */
  runDirect(
    context: C,
    core: (outer?: OuterCall | void) => MaybePromise<void>,
    outer?: OuterCall,
  ): MaybePromise<void> {
    // If a subclass or a user has replaced `run` (to add a guard, for example), it must not be bypassed.
    return this.run === RUN
      ? runLayers(this.plan.links, context, core, outer)
      : this.run(context, async (inner) => core(inner), outer);
  }
}

const RUN: unknown = Reflect.get(MiddlewarePipeline.prototype, "run");

function planOf<C>(layers: readonly Layer<C>[], wanted: MiddlewareLevel | undefined): Plan<C> {
  const level = checkLayers(layers, wanted);
  const links: Link<C>[] = [];
  const admits: Admit<C>[] = [];
  for (const [at, layer] of layers.entries()) {
    const name = layerName(layer, at);
    if (typeof layer === "function") {
      links.push({ name, process: layer });
      continue;
    }
    if (layer.process !== undefined)
      links.push({ name, process: (context, next) => processOf(layer, context, next) });
    if (layer.admit !== undefined) admits.push((context, gate) => layer.admit?.(context, gate));
  }
  return { layers: [...layers], level, links, admits };
}

/** Called as a method, so that layers that are instances of a class keep their `this`. */
function processOf<C>(layer: Middleware<C>, context: C, next: Next): Promise<void> {
  return layer.process === undefined ? next() : layer.process(context, next);
}

/**
 * Wrapped in a real promise: a custom thenable's `then` may return undefined, and then the layers after it would not be awaited.
 */
function admitAfter<C extends WithResult>(
  asked: PromiseLike<void>,
  admits: readonly Admit<C>[],
  next: number,
  context: C,
  gate: Gate,
): Promise<void> {
  return Promise.resolve(asked).then(() =>
    context.result === undefined ? admitFrom(admits, next, context, gate) : undefined,
  );
}

function admitFrom<C extends WithResult>(
  admits: readonly Admit<C>[],
  from: number,
  context: C,
  gate: Gate,
): MaybePromise<void> {
  for (let at = from; at < admits.length; at++) {
    const asked = admits[at]?.(context, gate);
    if (isPromiseLike(asked)) return admitAfter(asked, admits, at + 1, context, gate);
    if (context.result !== undefined) return undefined;
  }
  return undefined;
}
