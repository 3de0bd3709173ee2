import { rolldown, type RolldownOptions } from "rolldown";

/** The code of a program in one file, and what the bundler could not find. */
export async function bundle(
  file: string,
  options: RolldownOptions = {},
  minify = false,
): Promise<{ code: string; missing: string[] }> {
  const missing: string[] = [];
  const made = await rolldown({
    ...options,
    input: file,
    onLog: (_, log) => void (log.code === "UNRESOLVED_IMPORT" && missing.push(log.message)),
  });
  const { output } = await made.generate({ format: "iife", codeSplitting: false, minify });
  return { code: output[0].code, missing };
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
