import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const bench = join(import.meta.dirname, "../..");
const exec = promisify(execFile);

/** Runs a file in a process of its own and gives what its last line says. */
async function child(args: readonly string[]): Promise<unknown> {
  const env = { ...process.env, NODE_ENV: "production", NODE_COMPILE_CACHE: "" };
  const { stdout } = await exec(process.execPath, args, { cwd: bench, env, maxBuffer: 1 << 26 });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "null");
}

export async function childNumber(field: string, args: readonly string[]): Promise<number> {
  const value: unknown = await child(args);
  const number: unknown = typeof value === "object" && value !== null ? Reflect.get(value, field) : undefined;
  if (typeof number !== "number") throw new TypeError(`${args.join(" ")} printed no number under ${field}`);
  return number;
}
