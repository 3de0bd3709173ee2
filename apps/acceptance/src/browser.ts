import { join } from "node:path";
import { type OutputOptions, type Plugin, rolldown, type RolldownOptions } from "rolldown";

/** The code of a program in one file, and what the bundler could not find. */
export async function bundle(
  file: string,
  options: RolldownOptions = {},
  output: Pick<OutputOptions, "format" | "minify"> = {},
): Promise<{ code: string; missing: string[] }> {
  const missing: string[] = [];
  const made = await rolldown({
    ...options,
    input: file,
    onLog: (_, log) => void (log.code === "UNRESOLVED_IMPORT" && missing.push(log.message)),
  });
  const { output: files } = await made.generate({ format: "iife", codeSplitting: false, ...output });
  return { code: files[0].code, missing };
}

/** Gives a bundler files that are not on the disk, by their whole paths. */
export function inMemory(files: ReadonlyMap<string, string>): Plugin {
  return {
    name: "in memory",
    resolveId: (id, from) => [id, join(from ?? "", "..", id)].find((path) => files.has(path)),
    load: (path) => files.get(path),
  };
}

/** What only Node has, or what only this process may touch. */
const NOT_SHARED =
  /^(?:globalThis|global|self|window|process|Buffer|setImmediate|clearImmediate|navigator|localStorage|sessionStorage)$/;

/** The globals that this process has in common with a browser, for `vm.createContext`. Its timers are numbers. */
export function browserGlobals(): Record<string, unknown> {
  const shared = Object.getOwnPropertyNames(globalThis)
    .filter((name) => !NOT_SHARED.test(name))
    .map((name) => [name, Reflect.get(globalThis, name)] as const);
  return {
    ...Object.fromEntries(shared),
    setTimeout: (callback: (...given: unknown[]) => void, delayMs?: number, ...given: unknown[]) =>
      Number(setTimeout(callback, delayMs, ...given)),
  };
}
