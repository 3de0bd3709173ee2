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
import { truncateText } from "@ravi/kernel/loop";

/** What somebody said, and why they stopped: "done", or what cut them off. */
export interface Said {
  readonly text: string;
  readonly stopReason: StopReason;
}

/** An empty answer is none, whatever the provider calls it. */
export function saidBy(response: ModelResponse): Said {
  const text = textOf(response.message);
  const { finishReason } = response;
  if (finishReason === "length" || finishReason === "refused" || finishReason === "filtered")
    return { text, stopReason: finishReason };
  return { text, stopReason: text.trim() === "" ? "steps" : "done" };
}

export function saidIn({ output, status, stopReason }: AgentResult): Said {
  // A result that was cut off is never taken for a whole one, whatever reason it gives.
  if (status !== "completed")
    return { text: output, stopReason: stopReason === "done" ? "steps" : stopReason };
  return { text: output, stopReason: output.trim() === "" ? "steps" : "done" };
}

/** An answer to a part of the plan is a part of the answer. */
export function answerTo(plan: Said, answer: Said): Said {
  const isPart = plan.stopReason === "length" && answer.stopReason === "done";
  return isPart ? { ...answer, stopReason: "length" } : answer;
}

/** What became of a worker: something said, or an error. */
export type Worked = (Said & { readonly error?: undefined }) | { readonly error: RaviError };

export function workedOut(outcome: HireOutcome): Worked {
  if ("result" in outcome) return saidIn(outcome.result);
  if ("error" in outcome) {
    const { status, error: cause } = outcome;
    // One who was cancelled alone has failed: the run that hired it goes on, and must not be taken for cancelled.
    return status === "cancelled"
      ? { error: new ToolError({ toolName: "worker", message: `the worker was ${cause.message}`, cause }) }
      : { error: cause };
  }
  const toolName = outcome.handle.agentId;
  return {
    error: new ToolError({ toolName, message: `${toolName} gave no answer in time; it is still working` }),
  };
}

/** The limit of the run that somebody met, if one did: there is nothing left for others either. */
export function limitMet(worked: Worked): "budget" | "deadline" | "paused" | undefined {
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

/** What one of several may take of another model's window. */
export const MOST_CHARS = 20_000;

/** A worker's answer as another model reads it: never a part in the place of the whole, and never so long that it fills all. */
export function describeWork(worked: Worked): string {
  if (worked.error !== undefined) return `(no answer: ${worked.error.message})`;
  const text = truncateText(worked.text, MOST_CHARS);
  return worked.stopReason === "done" ? text : `(only a part, cut off: ${worked.stopReason}) ${text}`;
}
