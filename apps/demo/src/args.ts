import { parseArgs } from "node:util";
import { InvalidValueError } from "@ravi/kernel";
import type { ModelPrice } from "@ravi/resources";
import { DEFAULT_QUESTION } from "./roles.ts";

export const HELP = `demo: a lead, three researchers, an analyst and a writer answer a question over a few documents.

  --question TEXT    the question (default: "${DEFAULT_QUESTION}")
  --budget DOLLARS   the most that the whole tree may spend (default: 0.1, or 300,000 tokens if the price is not known)
  --agents N         how many agents may work at the same time, including the lead (default: 5)
  --journal DIR      the folder for the run and the server's bill (default: a new folder, deleted when the run is over)
  --crash-at N       kill this process (SIGKILL) when entry N of the journal is written; needs --journal
  --resume           continue the newest run in --journal
  --model NAME       use a real model, for real money: openai:gpt-5-mini, anthropic:claude-...; needs a key
  --base-url URL     with --model openai:...: the URL of an OpenAI-compatible server, for example your own
  --price IN,OUT     with --model: its price in dollars per million input and output tokens, if it is not known
  --page             show the run in a browser too: prints the address of a local page, which stays open until Ctrl-C
  --live             draw the tree even if standard output is not a terminal
  --engine restate   run on a local Restate server with two worker processes (downloads 216 MB the first time)
  --sdk              wire everything with @ravi/sdk instead of by hand; the result is the same
  --json             print one JSON object to standard output, and nothing else
  --help             show this text

Without --model, no key is needed and nothing is spent: a server on this machine stands in for OpenAI. Its answers follow a
script, but each depends on the request that it gets over HTTP from the real provider. The tools, the rules, the journal and
the bill are real. A key in the environment alone changes nothing.

Exit codes: 0 completed, 2 partial, 3 suspended, 1 failed, 130 interrupted, 143 terminated. Ctrl-C suspends the run and shows
how to continue it; a second Ctrl-C exits at once.`;

/** The demo's command line, parsed and checked. */
export interface Args {
  readonly question: string;
  /** Undefined: a default that fits the model (see `limitFor`). */
  readonly budgetUsd: number | undefined;
  readonly maxAgents: number;
  readonly journal: string | undefined;
  readonly crashAt: number | undefined;
  readonly resume: boolean;
  readonly model: string | undefined;
  readonly baseURL: string | undefined;
  readonly price: string | undefined;
  readonly page: boolean;
  readonly live: boolean;
  readonly engine: "local" | "restate";
  readonly sdk: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

const OPTIONS = {
  question: { type: "string", default: DEFAULT_QUESTION },
  budget: { type: "string" },
  agents: { type: "string", default: "5" },
  journal: { type: "string" },
  "crash-at": { type: "string" },
  resume: { type: "boolean", default: false },
  model: { type: "string" },
  "base-url": { type: "string" },
  price: { type: "string" },
  page: { type: "boolean", default: false },
  live: { type: "boolean", default: false },
  engine: { type: "string", default: "local" },
  sdk: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** Parses the command line. Throws an error that names the wrong option and says what was expected. */
export function readArgs(args: readonly string[]): Args {
  const values = valuesOf(args);
  const crashAt = values["crash-at"];
  if (values.journal?.trim() === "") wrong("--journal", values.journal, "a folder");
  if (values.journal === undefined && (crashAt !== undefined || values.resume))
    wrong(
      "--journal",
      undefined,
      `a folder for the run; ${values.resume ? "--resume" : "--crash-at"} needs one`,
    );
  if (values.model === undefined && values["base-url"] !== undefined)
    wrong("--base-url", values["base-url"], "--model as well, such as --model openai:llama3.3");
  if (values["base-url"] !== undefined && !/^https?:\/\/\S+$/.test(values["base-url"]))
    wrong("--base-url", values["base-url"], "the URL of a server, such as http://127.0.0.1:11434/v1");
  if (values.model === undefined && values.price !== undefined)
    wrong("--price", values.price, "--model as well; the stand-in has its own prices");
  if (values.price !== undefined) priceIn(values.price);
  if (values.json && values.page) wrong("--page", true, "no --json, whose output is one JSON object alone");
  return {
    question:
      values.question.trim() === ""
        ? wrong("--question", values.question, "a question that is not empty")
        : values.question,
    budgetUsd: values.budget === undefined ? undefined : dollars(values.budget),
    maxAgents: count("--agents", values.agents),
    journal: values.journal,
    crashAt: crashAt === undefined ? undefined : count("--crash-at", crashAt),
    resume: values.resume,
    model: values.model,
    baseURL: values["base-url"],
    price: values.price,
    page: values.page,
    live: values.live,
    engine: engine(values.engine, values.sdk || values.page || crashAt !== undefined),
    sdk: values.sdk,
    json: values.json,
    help: values.help,
  };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: signed(args), options: OPTIONS }).values;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${problem}\n  --help lists all options`, { cause });
  }
}

/**
 * Joins an option and a negative number (`--budget=-1`), so that `parseArgs` reads -1 as a value that is too low, not as an
 * option.
 */
function signed(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1);
    if (/^-[\d.]/.test(arg) && before?.startsWith("--") === true && !before.includes("="))
      joined.splice(-1, 1, `${before}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

/** Reads a price written as `IN,OUT`, in dollars per million tokens. Throws if it is anything else. */
export function priceIn(text: string): ModelPrice {
  const [input = Number.NaN, output = Number.NaN, ...more] = text
    .split(",")
    .map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (more.length === 0 && input >= 0 && output >= 0 && Number.isFinite(input + output))
    return { input, output };
  return wrong("--price", text, "dollars per million input and output tokens, such as 0.25,2");
}

function engine(text: string, isLocalOnly: boolean): "local" | "restate" {
  if (text !== "local" && text !== "restate") return wrong("--engine", text, "local or restate");
  if (text === "restate" && isLocalOnly)
    return wrong(
      "--engine",
      text,
      "local with --sdk, --page or --crash-at; to try a crash on Restate, kill a worker or the server",
    );
  return text;
}

function dollars(text: string): number {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) && value > 0
    ? value
    : wrong("--budget", text, "a number of dollars above 0, such as 0.05");
}

function count(option: string, text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 1 ? value : wrong(option, text, "a whole number, 1 or more");
}

function wrong(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
