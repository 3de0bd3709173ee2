import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { InvalidValueError } from "@ravi/kernel";
import type { Extension } from "./extension.ts";

/** Counts loads, so that a file which was changed is read again: modules are cached by their address. */
let loads = 0;

/**
 * The default export of a file that the user has named. It is a program and runs with all that this process may do: name
 * only files that you would run.
 */
export async function loadDefault(path: string, cwd: string): Promise<unknown> {
  const url = pathToFileURL(resolve(cwd, path));
  url.searchParams.set("load", String(++loads));
  try {
    const module = (await import(/* @vite-ignore */ url.href)) as { readonly default?: unknown };
    return module.default;
  } catch (cause) {
    throw new InvalidValueError({
      field: "file",
      value: path,
      expected: "a module that can be loaded",
      cause,
    });
  }
}

/** An extension, or a function that makes one. */
export async function loadExtension(path: string, cwd: string): Promise<Extension> {
  return checkExtension(madeBy(await loadDefault(path, cwd), path), path);
}

/** What a function makes; anything else is what it is. One that throws is named by where it comes from. */
export function madeBy(source: unknown, where: string): unknown {
  if (typeof source !== "function") return source;
  try {
    return (source as () => unknown)();
  } catch (cause) {
    const value = cause instanceof Error ? cause.message : cause;
    throw new InvalidValueError({ field: where, value, expected: "a function that does not throw", cause });
  }
}

export function checkExtension(value: unknown, where: string): Extension {
  if (
    isObject(value) &&
    typeof Reflect.get(value, "name") === "string" &&
    isHandlers(Reflect.get(value, "on"))
  )
    return value as Extension;
  const expected =
    "an extension: an object with a name, and with handlers in `on` (default export of a file)";
  throw new InvalidValueError({ field: where, value, expected });
}

function isHandlers(value: unknown): boolean {
  if (value === undefined) return true;
  return (
    isObject(value) &&
    Object.values(value).every((handler) => handler === undefined || typeof handler === "function")
  );
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
