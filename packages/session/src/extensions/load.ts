import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { checkFields, InvalidValueError } from "@ravi/kernel";
import { checkFunction, checkSpelling } from "@ravi/kernel/loop";
import { fieldsOf, isObject } from "@ravi/kernel/provider";
import { checkEphemeral } from "../prompt/ephemeral.ts";
import { SESSION_EVENTS } from "./events.ts";
import type { Extension } from "./extension.ts";

/**
 * Counts loads. It is part of the address, because modules are cached by address and a changed file would otherwise not be read
 * again.
 */
let loads = 0;

/**
 * Imports a file that the user named, and returns its default export. The file is a program with all rights of this process:
 * name only files that you would run.
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
      expected: "the path of a module that can be imported",
      cause,
    });
  }
}

/** Loads an extension from a file that exports one, or a function that returns one. */
export async function loadExtension(path: string, cwd: string): Promise<Extension> {
  return checkExtension(callIfFunction(await loadDefault(path, cwd), path), path);
}

/** Calls `source` if it is a function, otherwise returns it. If the function throws, the error names where it comes from. */
export function callIfFunction(source: unknown, where: string): unknown {
  if (typeof source !== "function") return source;
  try {
    return (source as () => unknown)();
  } catch (cause) {
    const value = cause instanceof Error ? cause.message : cause;
    throw new InvalidValueError({ field: where, value, expected: "a function that does not throw", cause });
  }
}

const FIELDS = [
  "name",
  "on",
  "onEvent",
  "tools",
  "guardrails",
  "ephemeral",
] as const satisfies readonly (keyof Extension)[];

/**
 * Throws an `InvalidValueError` if `value` is not an extension, or has a handler for an event that does not exist, or a misspelt field. It
 * may have fields of its own.
 */
export function checkExtension(value: unknown, where: string): Extension {
  if (!isExtension(value)) {
    const expected =
      "an extension: an object with a name and, in `on`, functions by event (a file exports it as default)";
    throw new InvalidValueError({ field: where, value, expected });
  }
  checkSpelling(where, value, FIELDS);
  const { on, onEvent, ephemeral } = value;
  if (on !== undefined) checkFields(`${where}.on`, on, SESSION_EVENTS);
  checkFunction(`${where}.onEvent`, onEvent);
  if (ephemeral !== undefined) checkEphemeral(`${where}.ephemeral`, ephemeral);
  return value;
}

function isExtension(value: unknown): value is Extension {
  const { name, on = {} } = fieldsOf(value);
  if (typeof name !== "string" || !isObject(on)) return false;
  return Object.values(on).every((handler) => handler === undefined || typeof handler === "function");
}
