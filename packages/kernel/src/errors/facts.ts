import { field } from "../core/field.ts";

// What can be read of an error that is not Ravi's: of a provider's client, or of a server behind it.

/** An error, and the server's own error body if it has one. */
export function partsOf(error: unknown): readonly unknown[] {
  return [error, field(error, "error")];
}

/** What the server behind a gateway said. The gateway's own message says nothing: "Provider returned error". */
export function saidBehind(report: unknown): string | undefined {
  const raw = field(field(report, "metadata"), "raw");
  return typeof raw === "string" && raw !== "" ? raw : undefined;
}

export function statusOf(parts: readonly unknown[]): number | undefined {
  return parts.map(statusIn).find((status) => status !== undefined);
}

export function textsIn(parts: readonly unknown[], names: readonly string[]): readonly string[] {
  const given = parts.flatMap((part) => names.map((name) => field(part, name)));
  return given.filter((text) => typeof text === "string");
}

/** The HTTP status of an error. Gateways put the status of the server behind them into `code`, Amazon's clients into `$metadata`. */
function statusIn(error: unknown): number | undefined {
  const given =
    field(error, "status") ??
    field(error, "statusCode") ??
    field(field(error, "response"), "status") ??
    field(field(error, "$metadata"), "httpStatusCode");
  if (typeof given === "number" && Number.isInteger(given)) return given;
  const code = field(error, "code");
  const number = typeof code === "string" && /^[45]\d\d$/.test(code) ? Number(code) : code;
  const isStatus = typeof number === "number" && Number.isInteger(number) && number >= 400 && number <= 599;
  return isStatus ? number : undefined;
}
