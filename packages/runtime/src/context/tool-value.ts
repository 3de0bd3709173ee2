import { checkPlainJson, type JsonValue, type ToolResult } from "@ravi/kernel";

/** How the value that a tool returned is read back from its recorded content. */
type Form = "text" | "json";

/** Undefined if the value cannot be read back: it is no plain JSON, or a layer has changed the content. */
export function formOf({ content, value, isError }: ToolResult, hasLayers: boolean): Form | undefined {
  if (value === undefined || isError || typeof content !== "string") return undefined;
  if (value === content) return "text";
  if (!isPlainJson(value) || (hasLayers && JSON.stringify(value) !== content)) return undefined;
  return "json";
}

/** The value that a tool returned, from its recorded content. Undefined if it cannot be read back. */
export function valueIn(content: ToolResult["content"], form: unknown): JsonValue | undefined {
  if (typeof content !== "string") return undefined;
  if (form === "text") return content;
  return form === "json" ? (JSON.parse(content) as JsonValue) : undefined;
}

function isPlainJson(value: unknown): boolean {
  try {
    checkPlainJson("value", value);
    return true;
  } catch {
    // A date, an instance of a class, NaN: it would be read back as something else.
    return false;
  }
}
