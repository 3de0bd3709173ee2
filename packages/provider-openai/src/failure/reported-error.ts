import { field, listOf, textIn } from "@ravi/kernel/provider";

/** An error that the server reported inside an answer that had begun, or under status 200. */
export class ReportedError extends Error {
  readonly error: unknown;
  constructor(error: unknown) {
    const text = field(error, "message");
    super(
      typeof text === "string" ? text : typeof error === "string" ? error : "the server reported an error",
    );
    this.name = "ReportedError";
    this.error = error;
  }
}

/** The error that a chunk, or a body under status 200, reports; undefined if it reports none. */
export function errorIn(body: unknown): unknown {
  // Google wraps it in a list.
  const [report = body] = listOf(body);
  const error = field(report, "error") ?? field(field(report, "x_groq"), "error") ?? false;
  if (error !== false && error !== "") return error;
  // Older versions of vLLM send the error itself.
  return field(report, "object") === "error" ? report : miniMaxError(field(report, "base_resp"));
}

/** MiniMax's numbers in OpenAI's words. */
const MEANINGS: Readonly<Record<string, string>> = {
  1002: "rate_limit_exceeded",
  1004: "invalid_api_key",
  1008: "insufficient_quota",
  1026: "content_filter",
  1027: "content_filter",
  1039: "rate_limit_exceeded",
  2013: "invalid_request_error",
  2049: "invalid_api_key",
};

/** MiniMax reports each outcome there, under status 200. The number of a good one is 0. */
function miniMaxError(outcome: unknown): unknown {
  const number = Number(field(outcome, "status_code") ?? 0);
  if (number === 0) return undefined;
  return {
    message: `${textIn(field(outcome, "status_msg")) ?? "the server reported an error"} (${number})`,
    code: MEANINGS[number],
  };
}
