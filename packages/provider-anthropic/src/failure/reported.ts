import { classifyError, ErrorKind } from "@ravi/kernel";
import { type FailureVerdict, fieldsOf, isObject, listOf, textIn } from "@ravi/kernel/provider";

/** What a server said when it failed or refused: `{ type: "error", error: { type, message, details? } }`. */
export interface Report {
  readonly type: string;
  /** A word, or the status that a gateway got from the server behind it. */
  readonly code: unknown;
  readonly message: string;
  /** Google's details say when to try again. */
  readonly details?: unknown;
}

/** Reads the body of a refusal or the data of an `error` event. Other shapes of compatible servers are understood too. */
export function readReport(body: unknown): Report {
  const report = unlisted(body);
  if (typeof report === "string") return { type: "", code: undefined, message: report };
  const { error, message, code } = fieldsOf(report);
  const inner = fieldsOf(error);
  return {
    type: textIn(inner["type"]) ?? "",
    code: textIn(fieldsOf(inner["details"])["error_code"]) ?? inner["code"] ?? code,
    message:
      textIn(inner["message"]) ??
      textIn(error) ??
      textIn(message) ??
      (isObject(report) ? JSON.stringify(report) : ""),
    details: inner["details"],
  };
}

/** Google wraps an error in a list. */
export function unlisted(body: unknown): unknown {
  const [only = body] = listOf(body);
  return only;
}

/** An error that the server reported inside an answer that had begun, or with status 200. */
export class ReportedError extends Error {
  readonly report: Report;
  constructor(body: unknown) {
    const report = readReport(body);
    super(report.message === "" ? "the server reported an error" : report.message);
    this.name = "ReportedError";
    this.report = report;
  }
}

/** Classifies a report. An unknown one counts as a failure of the server. */
export function classifyReport(report: Report, status: number | undefined): FailureVerdict {
  const { message } = report;
  const { kind, retryable, retryAfterMs } = classifyError({ ...report, status });
  if (kind === ErrorKind.UNKNOWN) return { kind: ErrorKind.SERVER_ERROR, status, said: message };
  return { kind, retryable, status, retryAfterMs, said: message };
}
