import { classifyError, type ClassifiedError } from "@ravi/kernel";
import { field, textIn } from "@ravi/kernel/provider";

/** All that was said of a failure. A gateway's own words say nothing ("Provider returned error"); it carries those of the server behind it. */
export function wordsOf(error: unknown): string {
  const own = error instanceof Error ? error.message : String(error);
  const behind = textIn(field(field(field(error, "error"), "metadata"), "raw"));
  return behind === undefined ? own : `${own}: ${behind}`;
}

/** What they mean. */
export function meaningOf(error: unknown): ClassifiedError {
  const message = wordsOf(error);
  if (!(error instanceof Error) || message === error.message) return classifyError(error);
  return classifyError({ message, status: field(error, "status"), error: field(error, "error") });
}
