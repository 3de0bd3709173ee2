import type * as AsyncHooks from "node:async_hooks";
import type * as Files from "node:fs";
import type * as Path from "node:path";
import type * as Process from "node:process";
import { InvalidValueError } from "@ravi/kernel";

// Only types of Node are imported, because a bundler for browsers would refuse the whole package.

/** The modules of Node that this package uses. */
interface Modules {
  readonly "node:async_hooks": typeof AsyncHooks;
  readonly "node:fs": typeof Files;
  readonly "node:path": typeof Path;
  readonly "node:process": typeof Process;
}

/** What a browser does not have. A bundler may give it a `process` that has only an environment. */
interface Host {
  readonly process?: { readonly version?: string; getBuiltinModule?: GetModule } | undefined;
}
type GetModule = <Id extends keyof Modules>(id: Id) => Modules[Id] | undefined;

const host: Host = globalThis;

/** Whether there is such a module of Node. */
export function hasModule(id: keyof Modules): boolean {
  return host.process?.getBuiltinModule?.(id) !== undefined;
}

/** A module of Node. Throws an `InvalidValueError` where there is none. */
export function nodeModule<Id extends keyof Modules>(id: Id): Modules[Id] {
  const found = host.process?.getBuiltinModule?.(id);
  if (found !== undefined) return found;
  const expected = `Node 22.18 or newer, or another platform with ${id}`;
  throw new InvalidValueError({ field: "process.version", value: host.process?.version, expected });
}
