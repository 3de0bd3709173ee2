import type { MiddlewareTermination } from "../errors/errors.ts";
import { type HookBase, HookEvent, type Hooks } from "../ports/hooks.ts";

const reported = new WeakSet<MiddlewareTermination>();

/** Reports to the hooks that a guard stopped the run: once for each stop, whoever sees it first. */
export function tellTermination(hooks: Hooks, stop: MiddlewareTermination, base: () => HookBase): void {
  if (reported.has(stop)) return;
  reported.add(stop);
  if (!hooks.has(HookEvent.GUARDRAIL_TRIP)) return;
  // `dispatch` never throws, and listeners are not awaited here.
  void hooks.dispatch(HookEvent.GUARDRAIL_TRIP, { ...base(), layer: stop.layer, reason: stop.reason });
}
