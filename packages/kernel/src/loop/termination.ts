import type { MiddlewareTermination } from "../errors/errors.ts";
import { type HookBase, HookEvent, type Hooks } from "../ports/hooks.ts";

const told = new WeakSet<MiddlewareTermination>();

/** Tells whoever listens that a guard has stopped it: once for each stop, whoever is the first to see it. */
export function tellTermination(hooks: Hooks, stop: MiddlewareTermination, base: () => HookBase): void {
  if (told.has(stop)) return;
  told.add(stop);
  if (!hooks.has(HookEvent.GUARDRAIL_TRIP)) return;
  // Never throws, and nobody on this path waits for a listener.
  void hooks.dispatch(HookEvent.GUARDRAIL_TRIP, { ...base(), layer: stop.layer, reason: stop.reason });
}
