import {
  type Agent,
  type ContextPorts,
  type Gate,
  type Hooks,
  type MaybePromise,
  NO_HOOKS,
  type OuterCall,
  type Pipeline,
  type Pipelines,
} from "@ravi/kernel";
import { bothHooks, checkHosted, guardedHooks, hasMethod, isUnset } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { promised } from "../promises/rejected.ts";

/** The hooks and layers around one agent's runs. The runtime's layers are outside, the agent's own inside. */
export interface Plan {
  readonly hooks: Hooks;
  readonly agent: NonNullable<Pipelines["agent"]> | undefined;
  readonly chat: NonNullable<Pipelines["chat"]> | undefined;
  readonly function: NonNullable<Pipelines["function"]> | undefined;
}

type Core<C> = Parameters<NonNullable<Pipeline<C>["runDirect"]>>[1];

const BARE: Plan = Object.freeze({ hooks: NO_HOOKS, agent: undefined, chat: undefined, function: undefined });

/** The plan for an agent. Throws an `InvalidValueError` if its hooks or pipelines are invalid. */
export function planFor(agent: Agent, ports: ContextPorts): Plan {
  const own = agent.pipelines;
  const shared = ports.pipelines;
  if (own === undefined && shared === undefined && agent.hooks === undefined && ports.hooks === NO_HOOKS)
    return BARE;
  checkHosted(agent);
  return {
    hooks: hooksFor(agent, ports),
    agent: join(shared?.agent, own?.agent),
    chat: join(shared?.chat, own?.chat),
    function: join(shared?.function, own?.function),
  };
}

/** The hooks of the runtime and those of the agent. */
export function hooksFor({ hooks: own }: Agent, { hooks: shared, logger }: ContextPorts): Hooks {
  return bothHooks(guardedHooks(shared, logger), own && guardedHooks(own, logger));
}

/** Two pipelines as one. Undefined if there is no layer at all, so that the hot path has a single check. */
function join<C extends { result: unknown }>(
  outside: Pipeline<C> | undefined,
  inside: Pipeline<C> | undefined,
): Pipeline<C> | undefined {
  // A pipeline is left out only if it says that it is empty: a guard without `isNoop` must not be.
  const first = outside?.isNoop === true ? undefined : outside;
  const second = inside?.isNoop === true ? undefined : inside;
  if (first === undefined || second === undefined) return first ?? second;
  return {
    isNoop: false,
    hasAdmits: mayAdmit(first) || mayAdmit(second),
    admit: (context, gate) =>
      andThen(admitBy(first, context, gate), () =>
        isUnset(context.result) ? admitBy(second, context, gate) : undefined,
      ),
    // The inner layers are told if an outer layer has given up the attempt, so that nothing is paid for it any more.
    run: (context, core, outer) => first.run(context, (to) => second.run(context, core, outerOf(to)), outer),
    ...(first.runDirect !== undefined && {
      runDirect: (context: C, core: Core<C>, outer?: OuterCall) =>
        first.runDirect?.(context, (to) => runLayers(second, context, core, outerOf(to)), outer),
    }),
  };
}

/** A custom pipeline may call its core with any argument, as `.catch(core)` does. */
function outerOf(given: unknown): OuterCall | undefined {
  return hasMethod(given, "isGivenUp") ? (given as OuterCall) : undefined;
}

/** Runs a call through the layers. Makes no promise if neither the core nor a layer makes one and the pipeline has `runDirect`. */
export function runLayers<C>(
  layers: Pipeline<C>,
  context: C,
  core: Core<C>,
  outer?: OuterCall,
): MaybePromise<void> {
  return layers.runDirect === undefined
    ? layers.run(context, (inner) => promised(() => core(inner)), outer)
    : layers.runDirect(context, core, outer);
}

/** Whether a layer may have an `admit`, which may refuse or wait before a call begins. */
export function mayAdmit(layers: Pick<Pipeline<never>, "hasAdmits"> | undefined): boolean {
  return layers !== undefined && layers.hasAdmits !== false;
}

/** Calls the `admit` of the layers, unless they say that they have none. Such a pipeline need not have the method. */
export function admitBy<C>(layers: Pipeline<C>, context: C, gate: Gate): MaybePromise<void> {
  return mayAdmit(layers) ? layers.admit(context, gate) : undefined;
}
