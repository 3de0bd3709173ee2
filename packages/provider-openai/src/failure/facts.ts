import { field } from "../wire/json.ts";

/** An error that the server reported inside an answer that had begun, or under status 200. */
export class ReportedError extends Error {
  readonly error: unknown;
  readonly status: number | undefined;
  constructor(error: unknown) {
    const text = field(error, "message");
    super(
      typeof text === "string" ? text : typeof error === "string" ? error : "the server reported an error",
    );
    this.name = "ReportedError";
    this.error = error;
    this.status = httpStatus(field(error, "status")) ?? httpStatus(field(error, "code"));
  }
}

/** The server answered, and it is no answer. */
export class UnusableAnswer extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnusableAnswer";
  }
}

function httpStatus(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 400 && number <= 599
    ? number
    : undefined;
}
