import { parseArgs } from "node:util";
import { UsageError } from "./errors.ts";

const OPTIONS = {
  journal: { type: "string" },
  json: { type: "boolean" },
  all: { type: "boolean" },
  follow: { type: "boolean", short: "f" },
  status: { type: "string" },
  reason: { type: "string" },
  text: { type: "string" },
  force: { type: "boolean" },
  port: { type: "string" },
  "read-only": { type: "boolean" },
  "older-than": { type: "string" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

type Option = keyof typeof OPTIONS;

/** What comes after a command, how many words of it, which options beside `--journal`, and what it does. */
const COMMANDS = {
  runs: {
    usage: "[--all] [--status <status>,…]",
    words: [0, 0],
    options: ["all", "status", "json"],
    does: "lists the open runs, newest first; --all: those that have ended too",
  },
  show: {
    usage: "<run>",
    words: [1, 1],
    options: ["json"],
    does: "who has worked and for how much, what it does and what it waits for",
  },
  log: {
    usage: "<run> [--follow]",
    words: [1, 1],
    options: ["follow", "json"],
    does: "what its agents have said and done; --follow: and what they do from now on",
  },
  page: {
    usage: "[--port <port>] [--read-only]",
    words: [0, 0],
    options: ["port", "read-only"],
    does: "shows all of it in a browser, with buttons to answer; needs @ravi/devtools",
  },
  approve: {
    usage: "<run> [<wait>]",
    words: [1, 2],
    options: [],
    does: "allows the tool call that a run asks for",
  },
  deny: {
    usage: "<run> [<wait>] [--reason <why>]",
    words: [1, 2],
    options: ["reason"],
    does: "refuses it; the agent is told why",
  },
  deliver: {
    usage: "<run> <wait> <json>",
    words: [2, 3],
    options: ["text"],
    does: "answers any wait; --text <text> instead of JSON for a text",
  },
  cancel: {
    usage: "<run> [--reason <why>]",
    words: [1, 1],
    options: ["reason"],
    does: "ends a run for good: at once, or when it is next resumed",
  },
  delete: {
    usage: "<run> [--force]",
    words: [1, 1],
    options: ["force"],
    does: "removes a run that has ended; --force: one that has not",
  },
  prune: {
    usage: "--older-than <time>",
    words: [0, 0],
    options: ["older-than"],
    does: "removes all runs that ended longer ago than 90s, 15m, 12h or 30d",
  },
  backup: { usage: "<file>", words: [1, 1], options: [], does: "copies the journal while it is in use" },
} as const satisfies {
  readonly [name: string]: {
    readonly usage: string;
    readonly words: readonly [least: number, most: number];
    readonly options: readonly Option[];
    readonly does: string;
  };
};

const commandLines = Object.entries(COMMANDS).map(
  ([name, { usage, does }]) => `  ${`ravi ${name} ${usage}`.padEnd(42)} ${does}`,
);

export const HELP = `ravi looks at the runs of a journal, and answers them. It runs no agents: your program resumes its runs.

${commandLines.join("\n")}

  --journal <folder>   where the journal is; default: $RAVI_JOURNAL, or .ravi
  --json               prints JSON, for runs, show and log
  --help, --version

<run>: the id of a run; for show and log also its beginning, and for answers its first parts, as 21cafce5 of 21cafce5-…
<wait>: its name, or its last parts, as tool:1:0; for approve and deny it may be left out if there is one only.
Exit codes: 0 done, 1 refused or failed, 2 the command line is wrong.`;

export type CommandName = keyof typeof COMMANDS;

export interface CommandLine {
  /** Undefined if only help or the version is asked for. */
  readonly name: CommandName | undefined;
  readonly words: readonly string[];
  readonly options: ReturnType<typeof parse>["values"];
}

/** Throws a `UsageError` that says what is wrong with it. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values: options, positionals } = parse(args);
  const [name, ...words] = positionals;
  if (options.help === true || options.version === true) return { name: undefined, words, options };
  if (name === undefined) throw new UsageError("which command?");
  if (!isCommand(name)) throw new UsageError(`there is no command ${JSON.stringify(name)}`);
  const { usage, words: counts, options: known } = COMMANDS[name];
  const [least, most] = counts;
  if (words.length < least || words.length > most) throw new UsageError(`expected ravi ${name} ${usage}`);
  const allowed: readonly string[] = ["journal", ...known];
  const wrong = Object.keys(options).find((option) => !allowed.includes(option));
  if (wrong !== undefined)
    throw new UsageError(`ravi ${name} has no option --${wrong}; expected ravi ${name} ${usage}`);
  return { name, words, options };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}
