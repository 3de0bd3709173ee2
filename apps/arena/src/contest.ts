import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { virtualClock } from "@ravi/testing";
import type { Args } from "./args.ts";
import type { Contest } from "./compete.ts";
import { limitFor, priceIn } from "./limit.ts";
import { lineUp } from "./line-up.ts";
import { QUESTION, standIn } from "./stand-in.ts";

const STAND_IN_PRICE = { input: 0.25, output: 2 };

/** What is asked of whom, under which limit. Throws if an option is wrong. */
export async function contestOf(values: Args, signal: AbortSignal): Promise<Contest> {
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
  values: Args,
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

/** The strategies to run. */
export function namesIn(only: string | undefined, known: readonly string[]): readonly string[] {
  if (only === undefined) return known;
  const names = only.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  return refuse("--only", unknown, `one of ${known.join(", ")}`);
}

function refuse(field: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field, value, expected });
}
