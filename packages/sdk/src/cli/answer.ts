import { cancel, deliver, InvalidValueError, type JsonValue } from "@ravi/sdk";
import { findRun } from "./find.ts";
import { isOpen } from "./list.ts";
import { holderOf, within } from "./open.ts";
import type { Request } from "./perform.ts";
import { oneLine } from "./printable.ts";
import { findWait, type FoundWait, isBudget, questionOf } from "./waits.ts";
import { UsageError } from "./errors.ts";

/** Allows a tool call. */
export async function approve(request: Request): Promise<string> {
  const wait = await approvalOf(request);
  if (isBudget(wait)) {
    const expected =
      "the wait of a tool call; answer a request for more budget with ravi deliver, for example '{\"cost\": 5}'";
    throw new InvalidValueError({ field: "wait", value: wait.name, expected });
  }
  return give(request, wait, true);
}

/** Refuses a tool call, or more budget. */
export async function deny(request: Request): Promise<string> {
  const wait = await approvalOf(request);
  const { reason } = request.options;
  if (isBudget(wait)) {
    if (reason !== undefined) throw new UsageError("more budget is refused without --reason");
    return give(request, wait, false);
  }
  const no = reason === undefined ? { approved: false } : { approved: false, reason };
  return give(request, wait, no);
}

/** Answers any wait. */
export async function answer(request: Request): Promise<string> {
  const [run = "", name = "", json] = request.words;
  const { text } = request.options;
  if ((json === undefined) === (text === undefined))
    throw new UsageError(
      "ravi deliver <run> <wait> takes either JSON or --text after the wait, whose name ravi show prints",
    );
  const value = text ?? parsed(json ?? "");
  return give(
    request,
    findWait(await findRun(request.journal, run, "answer"), name, ["approval", "signal"]),
    value,
  );
}

/** Ends a run for good. */
export async function cancelRun({ words: [given = ""], journal, options }: Request): Promise<string> {
  const { runId, status } = await findRun(journal, given, "end");
  if (!isOpen(status)) {
    throw new InvalidValueError({
      field: "run",
      value: runId,
      expected: `a run that has not ended; it is ${status}`,
    });
  }
  await cancel(runId, options.reason ?? "cancelled with ravi cancel", { journal });
  const holder = await holderOf(journal, runId);
  return holder === undefined
    ? `${runId} is cancelled: it does nothing more, and ends when it is next resumed`
    : `${runId} is cancelled: ${holder} ends it`;
}

function parsed(json: string): JsonValue {
  try {
    return JSON.parse(json) as JsonValue;
  } catch {
    throw new UsageError(`${JSON.stringify(json)} is not JSON; send a text with --text`);
  }
}

async function approvalOf({ words: [run = "", name = ""], journal }: Request): Promise<FoundWait> {
  return findWait(await findRun(journal, run, "answer"), name, ["approval"]);
}

async function give({ journal }: Request, wait: FoundWait, value: JsonValue): Promise<string> {
  const { runId, name, agentId, execId, since } = wait;
  // With an id of this wait: a second answer, of somebody else at the same time, must not be kept for the next one of that name.
  await deliver(runId, name, value, { journal, mustWait: true, id: `ravi ${execId} ${since}` });
  const first = await newestAnswer(journal, wait);
  if (first !== undefined && first !== JSON.stringify(value)) {
    const expected = `a wait that nobody has answered; somebody else has just said ${first}`;
    throw new InvalidValueError({ field: "wait", value: name, expected });
  }
  const holder = await holderOf(journal, runId);
  const question = questionOf(wait);
  const what = question === undefined ? "" : `: ${oneLine(question, 200)}`;
  const next = holder === undefined ? "it goes on when the run is resumed" : `${holder} goes on with it`;
  return `${agentId} of run ${runId} was answered${what}; ${next}`;
}

/** What was answered to a wait of that name last, as JSON; undefined if the run is gone by now. */
function newestAnswer(journal: string, { runId, name }: FoundWait): Promise<string | undefined> {
  return within(journal, async (open) => {
    const answers = open.items(runId, 0).filter((item) => item.kind === "signal" && item.name === name);
    return answers.map(({ value }) => JSON.stringify(value)).at(-1);
  });
}
