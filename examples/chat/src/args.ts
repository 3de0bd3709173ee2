import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

export const HELP = `chat: a conversation in the terminal that survives being closed.

  --model NAME     openai:gpt-5-mini, anthropic:claude-...: a real model, with a key, for real money
  --base-url URL   with --model openai:...: another server that speaks OpenAI's protocol
  --session ID     go on with that session (default: a new one)
  --dir PATH       where sessions are kept (default: ~/.ravi/chat)
  --help           this text

Without --model no key is needed and nothing is spent: a server on this machine stands in for a model, over HTTP. Its answers
are a script's. A key in the environment alone changes nothing.

What is piped in is answered line by line, and the exit code is 1 where an answer failed.`;

export const COMMANDS = `  /help             this list
  /tree             the conversation as a tree; * is where it stands
  /fork [N]         go on from entry N of the tree, or from before the last exchange
  /compact          make what the model sees shorter; the session keeps every word
  /model [NAME]     which model answers, or let another one (openai:NAME, anthropic:NAME)
  /cost             what this session has used and cost
  /new              a new session
  /quit             leave; the session stays

Ctrl-C ends the running turn and keeps the session; twice leaves. A line that is typed while an answer comes steers it.`;

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
      "--base-url needs a --model beside it, such as openai:llama3.3\n  --help lists the options",
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
      throw new Error("HOME is empty, so there is no place for the sessions: name one with --dir");
    return join(home, ".ravi", "chat");
  }
  if (dir.trim() === "")
    throw new Error("--dir needs the path of a folder behind it\n  --help lists the options");
  return resolve(process.env["INIT_CWD"] ?? ".", dir);
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${problem}\n  --help lists the options`, { cause });
  }
}
