import { isRaviError } from "@ravi/sdk";
import { printable } from "./printable.ts";

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function isUsageError(error: unknown): boolean {
  return error instanceof UsageError;
}

/** One line for what a user can do something about; the whole stack for a fault of the program. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return printable(String(error));
  if (isUsageError(error)) return printable(`${error.message}\nravi --help lists the commands.`);
  const isExpected = isRaviError(error) || "code" in error;
  return printable(isExpected ? error.message : (error.stack ?? error.message));
}
