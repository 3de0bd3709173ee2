import { AsyncLocalStorage } from "node:async_hooks";
import type { RunScope } from "@ravi/kernel";

const storage = new AsyncLocalStorage<RunScope>();

/** The scope of the run that the calling code belongs to. Undefined outside a run, and in a runtime without `ambientScope`. */
export function getRunScope(): RunScope | undefined {
  return storage.getStore();
}

export function withScope<T>(scope: RunScope, run: () => T): T {
  return storage.run(scope, run);
}

/** The callback, called in the scope in which this is called, and not in the one of its caller. */
export function inThisScope<T>(callback: (given: T) => void): (given: T) => void {
  return AsyncLocalStorage.bind(callback);
}
