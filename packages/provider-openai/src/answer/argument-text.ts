import { isObject } from "@ravi/kernel/provider";

/** As the model wrote it; a server that has parsed it already gets it written again. */
export function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : "";
}
