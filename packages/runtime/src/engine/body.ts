import type { JsonObject } from "@ravi/kernel";

/** A text field of a recorded body; "" if there is none. */
export function textAt(body: JsonObject | undefined, field: string): string {
  const value = body?.[field];
  return typeof value === "string" ? value : "";
}
