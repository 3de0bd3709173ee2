import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

export const BENCH = join(import.meta.dirname, "../..");
const exec = promisify(execFile);

export interface ChildOptions {
  /** The folder from which its imports are resolved (default: the bench folder). */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Aborting it kills the process. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** What a measuring process prints: figures by name, and a few words. */
export type Figures = Readonly<Record<string, number | string>>;

/** Runs Node with these arguments and returns the last line of its output, parsed as JSON. Throws if that is not an object. */
export async function childFigures(args: readonly string[], options: ChildOptions = {}): Promise<Figures> {
  const { cwd = BENCH, signal, timeoutMs: timeout } = options;
  const env = { ...process.env, NODE_ENV: "production", NODE_COMPILE_CACHE: "", ...options.env };
  const { stdout } = await exec(process.execPath, args, { cwd, env, signal, timeout, maxBuffer: 1 << 26 });
  const value: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "null");
  if (typeof value !== "object" || value === null)
    throw new TypeError(`${args.join(" ")} printed no figures`);
  return value as Figures;
}

/** Like `childFigures`, but returns one field. Throws if that is not a number. */
export async function childNumber(field: string, args: readonly string[]): Promise<number> {
  return numberAt(await childFigures(args), field, args.join(" "));
}

export function numberAt(figures: Figures, field: string, what: string): number {
  const number = figures[field];
  if (typeof number !== "number") throw new TypeError(`${what} printed no number under ${field}`);
  return number;
}
