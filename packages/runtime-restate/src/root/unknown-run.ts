import { InvalidValueError } from "@ravi/kernel";

/** The answer if the run is not known: it was deleted, or never started. */
export const UNKNOWN = { isUnknown: true } as const;

/** Throws an `InvalidValueError` if the answer says that the run is not known. */
export function knownAnswer(answer: unknown, runId: string): unknown {
  if (isUnknown(answer)) throw unknownRun(runId);
  return answer;
}

export function isUnknown(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "isUnknown" in answer;
}

export function unknownRun(runId: string): InvalidValueError {
  return new InvalidValueError({
    field: "runId",
    value: runId,
    expected: "the id of a run that the server knows",
  });
}
