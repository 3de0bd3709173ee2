import { field, saidBehind } from "@ravi/kernel/provider";

/** The message of an error, and what the server behind a gateway said. */
export function fullMessage(error: unknown): string {
  const own = error instanceof Error ? error.message : String(error);
  const behind = saidBehind(field(error, "error"));
  return behind === undefined ? own : `${own}: ${behind}`;
}
