import { parseArgs } from "node:util";
import { errorToJSON, InvalidValueError, type LLMClient } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { virtualClock } from "@ravi/testing";
import { compete, type Contest, type Score } from "./compete.ts";
import { lineUp } from "./line-up.ts";
import { QUESTION, standIn } from "./stand-in.ts";

const HELP = `arena: the same question through twelve ways of thinking, with what each of them costs.

  --only NAMES        some of them, with commas between: react,debate
  --model PROVIDER:M  a real model, such as openai:gpt-5.2 (OPENAI_API_KEY, or --base-url for a compatible server)
  --base-url URL      where an OpenAI-compatible server is
  --question TEXT     what to ask; only with --model
  --usd N             what each may spend at most, in dollars (default 0.50)
  --json              one JSON object on standard output, and nothing else
  --help              this text

Without --model a scripted stand-in answers: no key, nothing is spent, every run gives the same figures. Its answers and its
time are pretended (so many milliseconds for a call and a character); calls, tokens, limits and strategies are real.
Exit codes: 0 when all answered, 2 when one was cut off, 1 when one failed.`;

const STAND_IN_PRICE = { input: 0.25, output: 2 };

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      model: { type: "string" },
      "base-url": { type: "string" },
      question: { type: "string" },
      usd: { type: "string", default: "0.50" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const contest = contestOf(values);
  const names = namesIn(values.only, Object.keys(lineUp(contest.model)));
  if (!values.json) {
    const who =
      values.model ?? "a scripted stand-in (nothing is spent; answers, prices and times are pretended)";
    console.log(`question: ${contest.question}\nmodel: ${who}\n\n${row(HEAD)}`);
  }
  const scores: Score[] = [];
  // One after the other, so that none is slower for the others' sake.
  for (const name of names) {
    const score = await compete(contest, name);
    scores.push(score);
    if (!values.json) console.log(row(cells(score)));
    if (!values.json && score.error !== undefined) console.error(`arena: ${name}: ${score.error}`);
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
  if (scores.some(({ status }) => status === "failed" || status === "cancelled")) return 1;
  return scores.every(({ status }) => status === "completed") ? 0 : 2;
}

interface Values {
  readonly model?: string | undefined;
  readonly "base-url"?: string | undefined;
  readonly question?: string | undefined;
  readonly usd: string;
}

function contestOf(values: Values): Contest {
  const usd = Number(values.usd);
  if (!(usd > 0))
    throw new InvalidValueError({ field: "--usd", value: values.usd, expected: "dollars above 0" });
  if (values.model === undefined) return pretendedContest(values, usd);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort("interrupted by Ctrl-C"));
  return {
    question: values.question ?? QUESTION,
    model: realModel(values.model, values["base-url"]),
    line: lineUp,
    usd,
    signal: stop.signal,
  };
}

function pretendedContest(values: Values, usd: number): Contest {
  if (values.question !== undefined)
    throw new InvalidValueError({
      field: "--question",
      value: values.question,
      expected: "--model as well: the stand-in knows one question",
    });
  const clock = virtualClock({ now: 0 });
  const pass = async (until: Promise<unknown>): Promise<void> => {
    // Files and sockets there are none: whatever waits, waits for the clock.
    const ended = until.then(() => true);
    do await clock.runAll();
    while (!(await Promise.race([ended, new Promise<false>((resolve) => setImmediate(resolve, false))])));
  };
  return {
    question: QUESTION,
    model: standIn(clock),
    line: lineUp,
    usd,
    time: { clock, pass },
    prices: { prices: { "stand-in": STAND_IN_PRICE } },
  };
}

function realModel(spec: string, baseURL: string | undefined): LLMClient {
  const colon = spec.indexOf(":");
  const [provider, name] = [spec.slice(0, colon), spec.slice(colon + 1)];
  if (provider !== "openai" || name === "")
    throw new InvalidValueError({
      field: "--model",
      value: spec,
      expected: "openai:NAME, with --base-url for a compatible server",
    });
  return openai(name, baseURL === undefined ? {} : { baseURL });
}

function namesIn(only: string | undefined, known: readonly string[]): readonly string[] {
  if (only === undefined) return known;
  const names = only.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new InvalidValueError({ field: "--only", value: unknown, expected: `one of ${known.join(", ")}` });
}

const HEAD = ["strategy", "calls", "tokens in", "tokens out", "cost", "time", "status", "answer"];

function cells({ strategy, calls, inputTokens, outputTokens, costUsd, ms, status, answer }: Score): string[] {
  const cost = costUsd === null ? "?" : `$${costUsd.toFixed(6)}`;
  const line = answer.replaceAll(/\s+/g, " ").trim();
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

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`arena: ${errorToJSON(error).message}`);
  process.exitCode = 1;
}
