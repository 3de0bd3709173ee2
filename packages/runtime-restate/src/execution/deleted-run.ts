import { TerminalError } from "@restatedev/restate-sdk";
import { isRaviError } from "@ravi/kernel";
import { isUnknown } from "../root/unknown-run.ts";

// A run that is over may be deleted while one of its executions still lives, on a worker that could not be told to stop. Such an execution
// has to end when it finds out: with any other error than a terminal one, the server would try it again for ever.

/** The answer of a tree's object, or the error. Throws a `TerminalError` if the run was deleted. */
export function answerOf<A>(runId: string, answer: A | undefined, failure: TerminalError | undefined): A {
  if (failure !== undefined) throw failure;
  const isDeleted = Array.isArray(answer) ? answer.some(isUnknown) : isUnknown(answer);
  if (isDeleted) throw deletedRun(runId);
  return answer as A;
}

/** A `TerminalError` in place of the error that a run is not known. */
export function terminalIfDeleted(runId: string, error: unknown): unknown {
  return isRaviError(error, "INVALID_VALUE") && error.field === "runId" ? deletedRun(runId) : error;
}

function deletedRun(runId: string): TerminalError {
  return new TerminalError(`run ${runId} was deleted while one of its agents was at work`);
}
