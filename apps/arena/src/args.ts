import { parseArgs } from "node:util";

export const HELP = `arena: asks twelve reasoning strategies the same question, and shows what each of them costs.

  --only NAMES        run only these strategies, separated by commas: react,debate
  --model openai:NAME a real model, such as openai:gpt-5.2 (needs OPENAI_API_KEY, or --base-url for a compatible server)
  --base-url URL      with --model: the URL of an OpenAI-compatible server, for example your own
  --price IN,OUT      with --model: its price in dollars per million input and output tokens, if it is not known
  --question TEXT     the question; only with --model
  --usd N             the most that each strategy may spend, in dollars (default: 0.50, or 200,000 tokens if the price is not known)
  --json              print one JSON object to standard output, and nothing else
  --help              show this text

Without --model, a scripted stand-in answers: no key is needed, nothing is spent, and every run gives the same figures. Its answers
and times are simulated (some milliseconds for each call and character); calls, tokens, limits and strategies are real.

Exit codes: 0 all strategies answered, 2 one was cut off, 1 one failed, 130 Ctrl-C, 143 SIGTERM. After Ctrl-C no further call is
made and the results so far are shown; a second Ctrl-C exits at once.`;

const OPTIONS = {
  only: { type: "string" },
  model: { type: "string" },
  "base-url": { type: "string" },
  question: { type: "string" },
  price: { type: "string" },
  usd: { type: "string" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** The command line, parsed. Throws an error that says what is wrong with it. */
export function readArgs() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${problem}\n  --help lists all options`, { cause });
  }
}

export type Args = ReturnType<typeof readArgs>;
