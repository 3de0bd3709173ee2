import { InvalidValueError, type RunScope } from "@ravi/kernel";
import { moduleIfAny } from "./journal/parts/platform.ts";

const { AsyncLocalStorage } = moduleIfAny("node:async_hooks") ?? {};
const storage = AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage<RunScope>();

/** The scope of the run that the calling code belongs to. Undefined outside a run, and in a runtime without `ambientScope`. */
export function getRunScope(): RunScope | undefined {
  return storage?.getStore();
}

/** Throws an `InvalidValueError` if nothing here can carry a scope from step to step. */
export function checkAmbientScope(wanted: boolean): void {
  if (!wanted || storage !== undefined) return;
  const expected = "false here, where there is no node:async_hooks: pass on the scope that tools get instead";
  throw new InvalidValueError({ field: "runtime options.ambientScope", value: true, expected });
}

export function withScope<T>(scope: RunScope, run: () => T): T {
  return storage === undefined ? run() : storage.run(scope, run);
}

/** Returns what calls a callback in the scope in which this is called, and not in the one of its caller. */
export function inThisScope(): <T>(callback: (given: T) => void, given: T) => void {
  return AsyncLocalStorage?.snapshot() ?? ((callback, given) => callback(given));
}

/** Calls a function outside of the run that happens to end now: what its async context holds would be kept for ever. */
export const outside: (run: () => void) => void = AsyncLocalStorage?.snapshot() ?? ((run) => run());
