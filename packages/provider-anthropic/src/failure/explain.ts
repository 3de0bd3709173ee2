import { APIConnectionError, APIConnectionTimeoutError, APIError } from "@anthropic-ai/sdk";
import { ErrorKind, isRaviError, type RaviError } from "@ravi/kernel";
import {
  type ConnectionFault,
  type FailureContext,
  type FailureVerdict,
  fieldsOf,
  providerError,
  transportVerdict,
} from "@ravi/kernel/provider";
import { classifyReport, ReportedError, readReport } from "./reported.ts";

/** Turns any error of a call into a `RaviError` without secrets. */
export function explain(error: unknown, context: FailureContext): RaviError {
  if (isRaviError(error)) return error;
  const { headers: own } = fieldsOf(error);
  const headers = own instanceof Headers ? own : context.headers;
  return providerError(error, judge(error), { ...context, headers });
}

function judge(error: unknown): FailureVerdict {
  const said = error instanceof Error ? error.message : String(error);
  if (error instanceof ReportedError) return { ...classifyReport(error.report, undefined), said };
  const transport = transportVerdict(error, faultOf(error));
  if (transport !== undefined) return transport;
  if (!(error instanceof APIError)) return { kind: ErrorKind.UNKNOWN, retryable: false, said };
  const { status, error: body } = fieldsOf(error);
  const report = readReport(body ?? said);
  // A list of something else, or nothing at all: the client's message contains it.
  const message = report.message === "" ? said : report.message;
  const verdict = classifyReport({ ...report, message }, typeof status === "number" ? status : undefined);
  // Anthropic says what was not found; a server that does not is perhaps another one.
  const isElsewhere =
    report.type === "" &&
    !/\bmodel\b.{0,200}(?:not exist|not found|unknown)|\bunknown model\b/i.test(message);
  return status === 404 && isElsewhere
    ? { ...verdict, advice: "; check that baseURL is the address of the API" }
    : verdict;
}

function faultOf(error: unknown): ConnectionFault | undefined {
  if (error instanceof APIConnectionTimeoutError) return "timed out";
  return error instanceof APIConnectionError ? "broken" : undefined;
}
