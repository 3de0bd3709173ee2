import type { RaviError } from "../errors/base.ts";
import { isRaviError } from "../errors/is.ts";

/**
 * An error as a model is told about it: what happened, without the hint of an exhausted budget, which names options that only a
 * developer can set. The error itself keeps the hint, in events, logs and results.
 */
export function toldOf(error: RaviError): string {
  const { message } = error;
  if (!isRaviError(error, "BUDGET_EXHAUSTED") || typeof error.hint !== "string") return message;
  const hint = `; ${error.hint}`;
  return message.endsWith(hint) ? message.slice(0, -hint.length) : message;
}

/** The same of a refused hire, and what the model can do instead. */
export function toldOfDenial(error: RaviError): string {
  return `${toldOf(error)}${insteadOf(error)}`;
}

/** A slot becomes free when another agent ends, but the limits on total hires and on depth do not. */
function insteadOf(error: RaviError): string {
  if (!isRaviError(error, "BUDGET_EXHAUSTED")) return "";
  const isForGood = error.dimension === "totalAgents" || error.dimension === "depth";
  return isForGood
    ? ". Do the work yourself."
    : ". Do the work yourself, or hand it over again when another agent has finished.";
}
