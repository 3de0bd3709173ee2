import { InvalidValueError, type PendingWait, type RunSummary } from "@ravi/sdk";
import { oneLine, visible } from "./printable.ts";

export function kindWords(kind: PendingWait["kind"]): string {
  return { approval: "an approval", signal: "an answer", timer: "a time", decision: "a decision" }[kind];
}

/** In a few words: what kind of wait it is and, for a tool call, of which tool. */
export function shortly({ kind, question }: PendingWait): string {
  const isCall = typeof question === "object" && question !== null && "tool" in question;
  return isCall && typeof question["tool"] === "string"
    ? `${kindWords(kind)} (${question["tool"]})`
    : kindWords(kind);
}

/** Whether it is a request for more budget, whose answer is an amount. */
export function isBudget({ name, execId }: PendingWait): boolean {
  return name === `approval:budget:${execId}`;
}

/** What is asked, in full: nobody should allow what they have not seen. */
export function questionOf({ kind, question }: Pick<PendingWait, "kind" | "question">): string | undefined {
  if (question === undefined) return undefined;
  const isCall = typeof question === "object" && question !== null && "tool" in question;
  if (!isCall) return visible(asText(question));
  const { tool, arguments: given } = question as { readonly tool: unknown; readonly arguments?: unknown };
  // An agent may call tools on its own, and then only the tool is on record of a call that was cut off.
  if (kind === "decision" && !("callId" in question)) return visible(asText(tool));
  return visible(`${asText(tool)} ${asText(given ?? TOO_LONG)}`);
}

const TOO_LONG = "with arguments that are too long to be listed";

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A wait, and the run that it is of. */
export interface FoundWait extends PendingWait {
  readonly runId: RunSummary["runId"];
}

/** The wait of that name, or the only one whose last parts it has. Throws if there is none, or several. */
export function findWait(
  { runId, status, waitingFor = [] }: RunSummary,
  name: string,
  kinds: readonly PendingWait["kind"][],
): FoundWait {
  const open = waitingFor.filter(({ kind }) => kinds.includes(kind));
  const exact = open.filter((wait) => wait.name === name);
  const [found, ...others] =
    exact.length > 0 ? exact : open.filter((wait) => name === "" || wait.name.endsWith(`:${name}`));
  // Of several waits of one name, the one that has waited longest gets the answer.
  if (found !== undefined && others.every((other) => other.name === found.name)) return { ...found, runId };
  const named = (wait: PendingWait): string => {
    const question = questionOf(wait);
    return question === undefined ? wait.name : `${wait.name} (${oneLine(question)})`;
  };
  const expected =
    open.length === 0
      ? `a wait of run ${runId}, which is ${status} and waits for no ${kinds.join(" or ")}`
      : `one of ${open.map(named).join(", ")}, or the end of its name`;
  throw new InvalidValueError({ field: "wait", value: name === "" ? undefined : name, expected });
}
