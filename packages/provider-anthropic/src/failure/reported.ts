import { classifyError, ErrorKind } from "@ravi/kernel";
import { fieldsOf, textIn, type FailureVerdict } from "@ravi/kernel/provider";

/** What a server said when it failed or refused: `{ type: "error", error: { type, message, details? } }`. */
export interface Report {
  readonly type: string;
  readonly message: string;
}

/** Reads the body of a refusal or the data of an `error` event. Other shapes of compatible servers are understood too. */
export function readReport(body: unknown): Report {
  if (typeof body === "string") return { type: "", message: body };
  const { error, message } = fieldsOf(body);
  const inner = fieldsOf(error);
  const code = textIn(fieldsOf(inner["details"])["error_code"]) ?? textIn(inner["code"]);
  return {
    type: [textIn(inner["type"]) ?? "", code ?? ""].join(" ").trim(),
    message: textIn(inner["message"]) ?? textIn(error) ?? textIn(message) ?? "",
  };
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

/** Classifies a report (O6). An unknown one counts as a failure of the server. */
export function classifyReport({ type, message }: Report, status: number | undefined): FailureVerdict {
  const { kind, retryable } = classifyError({ status, type, message });
  if (kind === ErrorKind.UNKNOWN) return { kind: ErrorKind.SERVER_ERROR, status, said: message };
  return { kind, retryable, status, said: message };
}
