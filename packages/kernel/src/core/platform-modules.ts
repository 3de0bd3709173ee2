import { InvalidValueError } from "../errors/errors.ts";

/** What a browser does not have. A bundler may give it a `process` that has only an environment. */
interface Host {
  readonly process?:
    | { readonly version?: string; readonly getBuiltinModule?: (id: string) => unknown }
    | undefined;
}

/** The modules of Node that a package uses, by their ids. */
export interface PlatformModules<Modules> {
  /** A module; undefined where there is none. */
  readonly ifAny: <Id extends keyof Modules & string>(id: Id) => Modules[Id] | undefined;
  /** A module. Throws an `InvalidValueError` where there is none. */
  readonly get: <Id extends keyof Modules & string>(id: Id) => Modules[Id];
}

/**
 * Takes modules of Node from the process when they are needed, for packages that also run without Node: a bundler for browsers refuses an
 * import that it cannot find. `Modules` has their types.
 */
export function platformModules<Modules>(): PlatformModules<Modules> {
  const host = globalThis as Host;
  const ifAny = <Id extends keyof Modules & string>(id: Id): Modules[Id] | undefined => {
    try {
      return host.process?.getBuiltinModule?.(id) as Modules[Id] | undefined;
    } catch {
      // In Next's edge runtime the function exists, and throws.
      return undefined;
    }
  };
  const get = <Id extends keyof Modules & string>(id: Id): Modules[Id] => {
    const found = ifAny(id);
    if (found !== undefined) return found;
    const expected = `Node 22.18 or newer, or another platform with ${id}`;
    throw new InvalidValueError({ field: "process.version", value: host.process?.version, expected });
  };
  return { ifAny, get };
}
