import {
  checkFields,
  checkInteger,
  classifyError,
  InvalidValueError,
  type ModelInfo,
  ProviderError,
} from "@ravi/kernel";
import { lowerCased, retryAfterMs } from "@ravi/kernel/provider";
import type { AnswerFault } from "./answer.ts";

type StatusFault = Extract<AnswerFault, { type: "status" }>;

const FIELDS: Readonly<Record<AnswerFault["type"], readonly string[]>> = {
  hang: ["type", "afterDeltas"],
  cut: ["type", "afterDeltas", "error"],
  unfinished: ["type"],
  status: ["type", "status", "message", "code", "headers"],
  malformed: ["type", "body", "contentType"],
};

/** Throws an `InvalidValueError` if the fault is of no known type or has a wrong field. */
export function checkFault(fault: AnswerFault | undefined): AnswerFault | undefined {
  if (fault === undefined) return undefined;
  const known = Object.hasOwn(FIELDS, fault.type) ? FIELDS[fault.type] : undefined;
  if (known === undefined) {
    const expected = `one of ${Object.keys(FIELDS).join(", ")}`;
    throw new InvalidValueError({ field: "answer.fault.type", value: fault.type, expected });
  }
  checkFields("answer.fault", fault, known);
  if ("afterDeltas" in fault && fault.afterDeltas !== undefined) {
    checkInteger("answer.fault.afterDeltas", fault.afterDeltas, 0);
  }
  if (fault.type === "status" && !(checkInteger("answer.fault.status", fault.status, 300) <= 599)) {
    throw new InvalidValueError({
      field: "answer.fault.status",
      value: fault.status,
      expected: "an HTTP status from 300 to 599",
    });
  }
  return fault;
}

/** How many deltas are sent before the fault; Infinity if it does not interrupt them. */
export function deltasBefore(fault: AnswerFault | undefined): number {
  if (fault?.type === "cut") return fault.afterDeltas ?? 1;
  if (fault?.type === "hang") return fault.afterDeltas ?? 0;
  return Infinity;
}

/** Whether nothing is sent at all, not even the headers. */
export function hangsAtOnce(fault: AnswerFault | undefined): boolean {
  return fault?.type === "hang" && fault.afterDeltas === undefined;
}

/** The error that a provider's client would throw for this fault. For a scripted model, which has no network. */
export function errorOfFault(
  fault: Exclude<AnswerFault, { type: "hang" }>,
  who: Pick<ModelInfo, "provider" | "model">,
  now: number,
): Error {
  if (fault.type === "status") {
    const { status, code, message } = fault;
    const { kind } = classifyError({ status, code, message });
    const headers = lowerCased(fault.headers);
    const wait = retryAfterMs({ get: (name) => headers[name] }, now);
    return new ProviderError({ ...who, kind, message: statusMessage(fault), status, retryAfterMs: wait });
  }
  if (fault.type === "cut" && fault.error !== undefined) return fault.error;
  return new ProviderError({ ...who, kind: "SERVER_ERROR", message: WHAT_HAPPENED[fault.type] });
}

const WHAT_HAPPENED = {
  cut: "the connection was cut (scripted)",
  unfinished: "the answer ended before it was finished (scripted)",
  malformed: "the body is not a valid answer (scripted)",
} as const;

export function statusMessage(fault: StatusFault): string {
  return fault.message ?? `refused with status ${fault.status} (scripted)`;
}
