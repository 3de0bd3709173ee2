import { field } from "@ravi/kernel/provider";

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
