import type * as Crypto from "node:crypto";
import type * as Files from "node:fs";
import type * as Disk from "node:fs/promises";
import type * as Os from "node:os";
import type * as Path from "node:path";
import type Process from "node:process";
import { InvalidValueError } from "@ravi/kernel";

// Only types of Node are imported, because a bundler for browsers would refuse the whole package.

/** The modules of Node that this package uses. */
interface Modules {
  readonly "node:crypto": typeof Crypto;
  readonly "node:fs": typeof Files;
  readonly "node:fs/promises": typeof Disk;
  readonly "node:os": typeof Os;
  readonly "node:path": typeof Path;
  readonly "node:process": typeof Process;
}

/** What a browser does not have. A bundler may give it a `process` that has only an environment. */
interface Host {
  readonly process?: { readonly version?: string; getBuiltinModule?: GetModule } | undefined;
}
type GetModule = <Id extends keyof Modules>(id: Id) => Modules[Id] | undefined;

const host = globalThis as Host;

/** A module of Node; undefined where there is none. */
export function moduleIfAny<Id extends keyof Modules>(id: Id): Modules[Id] | undefined {
  return host.process?.getBuiltinModule?.(id);
}

/** A module of Node. Throws an `InvalidValueError` where there is none. */
export function nodeModule<Id extends keyof Modules>(id: Id): Modules[Id] {
  const found = moduleIfAny(id);
  if (found !== undefined) return found;
  const expected = `Node 22.18 or newer, or another platform with ${id}`;
  throw new InvalidValueError({ field: "process.version", value: host.process?.version, expected });
}
