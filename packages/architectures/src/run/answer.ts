import {
  type AgentResult,
  type HireOutcome,
  isRaviError,
  type ModelResponse,
  type RaviError,
  type StopReason,
  textOf,
  ToolError,
} from "@ravi/kernel";
import { toldOf, truncateText, withoutThoughts } from "@ravi/kernel/loop";

/** A text and why its author stopped: "done", or what cut it off. */
export interface Answer {
  readonly text: string;
  readonly stopReason: StopReason;
  /** What was wrong with an answer that is `invalid`. */
  readonly problem?: string | undefined;
}

/** An empty answer counts as none, whatever the provider reports. */
export function answerFrom(response: ModelResponse): Answer {
  const { finishReason } = response;
  const text = saidBy(textOf(response.message), finishReason);
  if (finishReason === "length" || finishReason === "refused" || finishReason === "filtered")
    return { text, stopReason: finishReason };
  return { text, stopReason: text.trim() === "" ? "steps" : "done" };
}

export function answerOf({ output, status, stopReason, problem }: AgentResult): Answer {
  const text = saidBy(output, stopReason);
  // A result that was cut off never counts as complete, whatever its reason.
  if (status !== "completed")
    return { text, stopReason: stopReason === "done" ? "steps" : stopReason, problem };
  return { text, stopReason: text.trim() === "" ? "steps" : "done" };
}

const OPENS_THOUGHTS = /^\s*<think(?:ing)?>/i;

/** The text without thoughts. One that was cut off in its thoughts has nothing else: what a model considers is no score and no choice. */
function saidBy(text: string, ended: string | undefined): string {
  const said = withoutThoughts(text);
  return ended === "length" && OPENS_THOUGHTS.test(said) ? "" : said;
}

/** An answer from work that was cut off is cut off too. */
export function answerFromCut(answer: Answer, cut: StopReason | undefined): Answer {
  return cut === undefined || answer.stopReason !== "done" ? answer : { ...answer, stopReason: cut };
}

/** The outcome of a worker: an answer, or an error. */
export type WorkOutcome = (Answer & { readonly error?: undefined }) | { readonly error: RaviError };

/** Reads the outcome of a hire. A worker that is still running after its timeout counts as failed. */
export function outcomeOf(outcome: HireOutcome): WorkOutcome {
  if ("result" in outcome) return answerOf(outcome.result);
  if ("error" in outcome) {
    const { status, error: cause } = outcome;
    // If only the worker was cancelled, it has failed: a cancellation error would look as if the whole run had been cancelled.
    return status === "cancelled"
      ? { error: new ToolError({ toolName: "worker", message: `the worker was ${cause.message}`, cause }) }
      : { error: cause };
  }
  const toolName = outcome.handle.agentId;
  return {
    error: new ToolError({ toolName, message: `${toolName} did not answer in time; it is still running` }),
  };
}

/** The limit of the run that was reached, if any: then there is nothing left for others either. */
export function limitReached(worked: WorkOutcome): "budget" | "deadline" | "paused" | undefined {
  if (worked.error !== undefined) {
    if (isRaviError(worked.error, "BUDGET_EXHAUSTED")) return "budget";
    if (isRaviError(worked.error, "DEADLINE_EXCEEDED")) return "deadline";
    return isRaviError(worked.error, "PAUSED") ? "paused" : undefined;
  }
  const { stopReason } = worked;
  return stopReason === "budget" || stopReason === "deadline" || stopReason === "paused"
    ? stopReason
    : undefined;
}

/** How many characters one of several answers may take of another model's context window. */
export const MAX_CHARS = 20_000;

/** A worker's answer as shown to another model: marked if it is incomplete, and shortened if it is too long. */
export function describeWork(worked: WorkOutcome): string {
  if (worked.error !== undefined) return `(no answer: ${toldOf(worked.error)})`;
  const text = truncateText(worked.text, MAX_CHARS);
  return worked.stopReason === "done" ? text : `(only a part, cut off: ${worked.stopReason}) ${text}`;
}
