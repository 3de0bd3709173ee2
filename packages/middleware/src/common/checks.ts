import { type Layer, type MiddlewareLevel, InvalidValueError, MiddlewareError } from "@ravi/kernel";
import { checkSpelling } from "@ravi/kernel/loop";
import type { Placement } from "../types.ts";

type PlacedLayer<C> = Layer<C> & Placement;

/** A layer's name in messages and traces; `layers[n]` if it has none. */
export function layerName<C>(layer: Layer<C>, at: number): string {
  if (typeof layer === "function") return layer.name === "" ? `layers[${at}]` : layer.name;
  if (typeof layer.name === "string" && layer.name !== "") return layer.name;
  const maker: unknown = layer.constructor;
  if (typeof maker === "function" && maker !== Object && maker.name !== "") return maker.name;
  return `layers[${at}]`;
}

export const LEVELS: readonly MiddlewareLevel[] = ["agent", "chat", "function"];

/**
 * Throws if something is not a layer, if layers are of different levels, or if their order would leak data. Returns the level.
 */
export function checkLayers<C>(
  layers: readonly Layer<C>[],
  level?: MiddlewareLevel,
): MiddlewareLevel | undefined {
  let wanted = level;
  for (const [at, layer] of layers.entries()) {
    checkShape(layer, `layers[${at}]`);
    const own: MiddlewareLevel | undefined = typeof layer === "function" ? undefined : layer.level;
    wanted ??= own;
    if (own === undefined || own === wanted) continue;
    throw new MiddlewareError({
      layer: layerName(layer, at),
      problem: `is a layer of the ${own} level, but this pipeline is of the ${wanted} level; add it to the ${own} pipeline instead`,
    });
  }
  checkOrder(layers);
  return wanted;
}

function checkShape(layer: unknown, field: string): void {
  if (typeof layer === "function") return;
  if (typeof layer !== "object" || layer === null) {
    throw new InvalidValueError({
      field,
      value: layer,
      expected: "a layer: a (context, next) function, or an object with a level",
    });
  }
  // By its type it has a level. Untyped JavaScript may leave it out; then it is of its pipeline's level, as a function is.
  const level: unknown = Reflect.get(layer, "level");
  if (level === undefined) checkSpelling(field, layer, ["level"]);
  else if (!LEVELS.some((known) => known === level)) {
    throw new InvalidValueError({
      field: `${field}.level`,
      value: level,
      expected: `one of ${LEVELS.join(", ")}`,
    });
  }
  const process: unknown = Reflect.get(layer, "process");
  const admit: unknown = Reflect.get(layer, "admit");
  for (const [name, part] of [
    ["process", process],
    ["admit", admit],
  ] as const) {
    if (part === undefined || typeof part === "function") continue;
    throw new InvalidValueError({
      field: `${field}.${name}`,
      value: part,
      expected: "a function or undefined",
    });
  }
  if (process === undefined && admit === undefined) {
    throw new InvalidValueError({
      field,
      value: layer,
      expected: "a layer with a process method, an admit method, or both",
    });
  }
  checkSpelling(field, layer, ["process", "admit"], "function");
}

/** Layers are listed from the outermost to the innermost. */
function checkOrder<C>(layers: readonly PlacedLayer<C>[]): void {
  for (const [at, outer] of layers.entries()) {
    for (const role of outer.insideOf ?? []) {
      const index = layers.findIndex((other, place) => place > at && other.role === role);
      const inner = layers[index];
      if (inner === undefined) continue;
      const name = layerName(inner, index);
      throw new MiddlewareError({
        layer: layerName(outer, at),
        problem: `is outside of ${name} (a ${role}), so it would store data that ${name} has not cleaned yet; list ${name} before it`,
      });
    }
  }
}
