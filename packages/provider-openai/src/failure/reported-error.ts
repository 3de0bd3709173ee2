import { field, listOf } from "@ravi/kernel/provider";

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
  return field(report, "object") === "error" ? report : undefined;
}
