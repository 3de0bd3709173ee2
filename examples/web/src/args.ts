import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

export const HELP = `web: a chat in the browser, served by Node alone.

  --port N       the port on this machine (default: 3000; 0: any that is free)
  --dir PATH     the folder for the journal and the conversations (default: ~/.ravi/web)
  --model NAME   use a real model, for real money: openai:gpt-5-mini; needs OPENAI_API_KEY
  --help         show this text

Without --model, no key is needed and nothing is spent: a script answers. Try: count to 50, what time is it, book a table.

Ctrl-C ends the server. What it was working on continues when it is started again; a second Ctrl-C ends it at once.
Only this machine can reach it. It has no login: whoever can reach the port can read everything and approve everything.`;

export interface Args {
  readonly port: number;
  readonly dir: string;
  readonly model: string | undefined;
  readonly help: boolean;
}

const OPTIONS = {
  port: { type: "string", default: "3000" },
  dir: { type: "string" },
  model: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

export function readArgs(args: readonly string[]): Args {
  const { port, dir, model, help } = valuesOf(args);
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new Error(`--port is ${JSON.stringify(port)}; expected a number from 0 to 65535`);
  return { port: Number(port), dir: help ? "" : folderOf(dir), model, help };
}

/** `INIT_CWD` is the folder in which the user typed the command. In a script of pnpm the process has another one. */
function folderOf(dir: string | undefined): string {
  if (dir === undefined) return join(homedir(), ".ravi", "web");
  if (dir.trim() === "") throw new Error("--dir needs the path of a folder");
  return resolve(process.env["INIT_CWD"] ?? ".", dir);
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${problem}\n  --help lists all options`, { cause });
  }
}
