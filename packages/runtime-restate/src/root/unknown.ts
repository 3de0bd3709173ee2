import { InvalidValueError } from "@ravi/kernel";

/** Answered where nothing is known of the run: it was forgotten, or never begun. */
export const UNKNOWN = { isUnknown: true } as const;

/** An answer of a run that there is. */
export function knownAnswer(answer: unknown, runId: string): unknown {
  if (typeof answer === "object" && answer !== null && "isUnknown" in answer) throw unknownRun(runId);
  return answer;
}

export function unknownRun(runId: string): InvalidValueError {
  return new InvalidValueError({ field: "runId", value: runId, expected: "a run that is on record" });
}
