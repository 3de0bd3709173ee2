import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

export const HELP = `chat: a conversation in the terminal that can be closed and continued later.

  --model NAME     use a real model, for real money: openai:gpt-5-mini, anthropic:claude-...; needs a key
  --base-url URL   with --model openai:...: the URL of an OpenAI-compatible server
  --session ID     continue this session (default: a new one)
  --dir PATH       the folder for sessions (default: ~/.ravi/chat)
  --help           show this text

Without --model, no key is needed and nothing is spent: a server on this machine stands in for a model, over HTTP. Its answers
are scripted. A key in the environment alone changes nothing.

Piped input is answered line by line; the exit code is 1 if an answer failed.`;

export const COMMANDS = `  /help             show this list
  /tree             show the conversation as a tree; * marks the current position
  /fork [N]         continue from entry N of the tree, or from before the last exchange
  /compact          shorten what the model sees; the session keeps every message
  /model [NAME]     show the model, or switch to another one (openai:NAME, anthropic:NAME)
  /cost             show the tokens and cost of this session
  /new              start a new session
  /quit             leave; the session is kept

Ctrl-C stops the running turn and keeps the session; a second Ctrl-C leaves. A line typed during an answer steers it.`;

export interface Args {
  readonly model: string | undefined;
  readonly baseURL: string | undefined;
  readonly session: string | undefined;
  readonly dir: string;
  readonly help: boolean;
}

const OPTIONS = {
  model: { type: "string" },
  "base-url": { type: "string" },
  session: { type: "string" },
  dir: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

export function readArgs(args: readonly string[]): Args {
  const values = valuesOf(args);
  if (values.model === undefined && values["base-url"] !== undefined)
    throw new Error(
      "--base-url needs --model as well, such as --model openai:llama3.3\n  --help lists all options",
    );
  return {
    model: values.model,
    baseURL: values["base-url"],
    session: values.session,
    dir: values.help ? "" : folderOf(values.dir),
    help: values.help,
  };
}

/** `INIT_CWD` is the folder in which the user typed the command. In a script of pnpm the process has another one. */
function folderOf(dir: string | undefined): string {
  if (dir === undefined) {
    const home = homedir();
    if (home === "")
      throw new Error("HOME is empty, so there is no default folder for sessions: set one with --dir");
    return join(home, ".ravi", "chat");
  }
  if (dir.trim() === "") throw new Error("--dir needs the path of a folder\n  --help lists all options");
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
