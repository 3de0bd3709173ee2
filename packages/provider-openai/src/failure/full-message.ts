import { classifyError, type ClassifiedError } from "@ravi/kernel";
import { field, textIn } from "@ravi/kernel/provider";

/**
 * The whole message of an error. A gateway's own message says nothing ("Provider returned error"), so that of the server behind it
 * is added.
 */
export function fullMessage(error: unknown): string {
  const own = error instanceof Error ? error.message : String(error);
  const behind = textIn(field(field(field(error, "error"), "metadata"), "raw"));
  return behind === undefined ? own : `${own}: ${behind}`;
}

/** Classifies an error by its whole message. */
export function classify(error: unknown): ClassifiedError {
  const message = fullMessage(error);
  if (!(error instanceof Error) || message === error.message) return classifyError(error);
  return classifyError({ message, status: field(error, "status"), error: field(error, "error") });
}
