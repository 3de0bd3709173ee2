import type * as AsyncHooks from "node:async_hooks";
import type * as Files from "node:fs";
import type * as Path from "node:path";
import type * as Process from "node:process";
import { platformModules } from "@ravi/kernel/loop";

// Only types of Node are imported, because a bundler for browsers would refuse the whole package.

/** The modules of Node that this package uses. */
interface Modules {
  readonly "node:async_hooks": typeof AsyncHooks;
  readonly "node:fs": typeof Files;
  readonly "node:path": typeof Path;
  readonly "node:process": typeof Process;
}

const modules = platformModules<Modules>();

/** Whether there is such a module of Node. */
export function hasModule(id: keyof Modules): boolean {
  return modules.ifAny(id) !== undefined;
}

/** A module of Node. Throws an `InvalidValueError` where there is none. */
export const nodeModule = modules.get;
