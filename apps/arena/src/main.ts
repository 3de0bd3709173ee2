import { errorToJSON } from "@ravi/kernel";
import { HELP, readArgs } from "./args.ts";
import { compete, type Score } from "./compete.ts";
import { contestOf, namesIn } from "./contest.ts";
import { watchForEnding } from "./ending.ts";
import { lineUp } from "./line-up.ts";
import { HEAD, lineOf } from "./table.ts";

async function main(): Promise<number> {
  const ending = watchForEnding(process.stdout);
  const values = readArgs();
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
    console.log(`question: ${contest.question}\nmodel: ${who}${counted}\n\n${HEAD}`);
  }
  const scores: Score[] = [];
  // One after the other, so that they do not slow each other down.
  for (const name of names) {
    if (ending.exitCode !== undefined) break;
    const score = await compete(contest, name);
    scores.push(score);
    if (!values.json && !ending.isUnheard) console.log(lineOf(score));
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
