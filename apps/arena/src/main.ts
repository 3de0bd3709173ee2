import { parseArgs } from "node:util";
import { errorToJSON, InvalidValueError, type LLMClient } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { virtualClock } from "@ravi/testing";
import { compete, type Contest, type Score } from "./compete.ts";
import { watchForEnding } from "./ending.ts";
import { limitFor, priceIn } from "./limit.ts";
import { lineUp } from "./line-up.ts";
import { QUESTION, standIn } from "./stand-in.ts";

const HELP = `arena: asks twelve reasoning strategies the same question, and shows what each of them costs.

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

const STAND_IN_PRICE = { input: 0.25, output: 2 };

async function main(): Promise<number> {
  const ending = watchForEnding(process.stdout);
  const values = valuesOf();
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const contest = await contestOf(values, ending.signal);
  const names = namesIn(values.only, Object.keys(lineUp(contest.model)));
  if (!values.json) {
    const who =
      values.model ?? "a scripted stand-in (nothing is spent; answers, prices and times are simulated)";
    const { limit } = contest;
    const counted =
      "maxTokens" in limit
        ? ` (its price is not known, so tokens are limited instead: ${limit.maxTokens} for each strategy)`
        : "";
    console.log(`question: ${contest.question}\nmodel: ${who}${counted}\n\n${row(HEAD)}`);
  }
  const scores: Score[] = [];
  // One after the other, so that they do not slow each other down.
  for (const name of names) {
    if (ending.exitCode !== undefined) break;
    const score = await compete(contest, name);
    scores.push(score);
    if (!values.json && !ending.isUnheard) console.log(row(cells(score)));
    if (!values.json && !ending.isUnheard && score.error !== undefined)
      console.error(printable(`arena: ${name}: ${score.error}`));
    if (score.isUnanswered === true) {
      if (scores.length < names.length)
        console.error("arena: the model answered no call at all, so the other strategies are skipped");
      break;
    }
  }
  if (values.json)
    console.log(
      JSON.stringify({
        question: contest.question,
        model: contest.model.id,
        pretended: values.model === undefined,
        scores,
      }),
    );
  if (ending.exitCode !== undefined) return ending.exitCode;
  if (scores.some(({ status }) => status === "failed" || status === "cancelled")) return 1;
  return scores.every(({ status }) => status === "completed") ? 0 : 2;
}

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

function valuesOf() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${problem}\n  --help lists all options`, { cause });
  }
}

interface Values {
  readonly model?: string | undefined;
  readonly "base-url"?: string | undefined;
  readonly question?: string | undefined;
  readonly price?: string | undefined;
  readonly usd?: string | undefined;
}

async function contestOf(values: Values, signal: AbortSignal): Promise<Contest> {
  const usd = values.usd === undefined ? undefined : Number(values.usd);
  if (usd !== undefined && !(usd > 0)) refuse("--usd", values.usd, "a number of dollars above 0");
  if (values.question?.trim() === "") refuse("--question", values.question, "a question that is not empty");
  if (values.model === undefined) return pretendedContest(values, usd, signal);
  const baseURL = values["base-url"];
  const model = realModel(values.model, baseURL);
  const prices = values.price === undefined ? undefined : { [values.model]: priceIn(values.price) };
  return {
    question: values.question ?? QUESTION,
    model,
    line: lineUp,
    limit: await limitFor(model, prices, { usd, isOwnServer: baseURL !== undefined }),
    prices: { prices },
    signal,
  };
}

async function pretendedContest(
  values: Values,
  usd: number | undefined,
  signal: AbortSignal,
): Promise<Contest> {
  if (values.question !== undefined)
    refuse("--question", values.question, "--model as well: the stand-in only knows its own question");
  for (const option of ["base-url", "price"] as const) {
    if (values[option] !== undefined)
      refuse(`--${option}`, values[option], "--model as well, such as --model openai:llama3.3");
  }
  const clock = virtualClock({ now: 0 });
  const pass = async (until: Promise<unknown>): Promise<void> => {
    // The stand-in uses no files or sockets, so whatever is pending waits for the virtual clock.
    const over = (): true => true;
    const ended = until.then(over, over);
    do await clock.runAll();
    while (!(await Promise.race([ended, new Promise<false>((resolve) => setImmediate(resolve, false))])));
  };
  const model = standIn(clock);
  const prices = { "stand-in": STAND_IN_PRICE };
  return {
    question: QUESTION,
    model,
    line: lineUp,
    limit: await limitFor(model, prices, { usd, isOwnServer: false }),
    time: { clock, pass },
    prices: { prices },
    signal,
  };
}

function realModel(spec: string, baseURL: string | undefined): LLMClient {
  const colon = spec.indexOf(":");
  const [provider, name] = [spec.slice(0, colon), spec.slice(colon + 1)];
  if (provider !== "openai" || name === "")
    refuse("--model", spec, "openai:NAME, with --base-url for a compatible server");
  if (baseURL !== undefined && !/^https?:\/\/\S+$/.test(baseURL))
    refuse("--base-url", baseURL, "the URL of a server, such as http://127.0.0.1:11434/v1");
  return openai(name, baseURL === undefined ? {} : { baseURL });
}

function namesIn(only: string | undefined, known: readonly string[]): readonly string[] {
  if (only === undefined) return known;
  const names = only.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  return refuse("--only", unknown, `one of ${known.join(", ")}`);
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}

const HEAD = ["strategy", "calls", "tokens in", "tokens out", "cost", "time", "status", "answer"];

function cells({ strategy, calls, inputTokens, outputTokens, costUsd, ms, status, answer }: Score): string[] {
  const cost = costUsd === null ? "?" : `$${costUsd.toFixed(6)}`;
  const line = answer.replaceAll(/[\s\p{Cc}]+/gu, " ").trim();
  return [
    strategy,
    String(calls),
    String(inputTokens),
    String(outputTokens),
    cost,
    `${(ms / 1000).toFixed(1)} s`,
    status,
    line.length > 60 ? `${line.slice(0, 59)}…` : line,
  ];
}

function row([
  strategy = "",
  calls = "",
  input = "",
  output = "",
  cost = "",
  time = "",
  status = "",
  answer = "",
]: readonly string[]): string {
  const figures = [
    calls.padStart(6),
    input.padStart(10),
    output.padStart(11),
    cost.padStart(11),
    time.padStart(8),
  ];
  return `${strategy.padEnd(17)}${figures.join(" ")}  ${status.padEnd(10)} ${answer}`.trimEnd();
}

/** Removes control characters: text from a server must not move the cursor or write to the clipboard. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "");
}

// Standard error is closed, so there is nowhere left to report it.
process.stderr.on("error", () => {});

try {
  process.exitCode = Math.max(await main(), Number(process.exitCode ?? 0));
} catch (error) {
  console.error(printable(`arena: ${errorToJSON(error).message}`));
  process.exitCode = 1;
}
