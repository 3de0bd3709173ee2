import { field, textIn } from "@ravi/kernel/provider";

/** The text that a part of a result is, also inside of a resource; undefined if it is none. */
export function textOfPart(part: unknown): string | undefined {
  const type = field(part, "type");
  if (type === "text") return textIn(field(part, "text")) ?? "";
  if (type !== "resource") return undefined;
  return textIn(field(field(part, "resource"), "text"));
}

/** A part that is no text, in words. */
export function describeLink(part: unknown): string {
  const type = field(part, "type");
  if (type !== "resource_link") return `[${short(type) ?? "unknown content"}]`;
  const said = ["name", "mimeType", "description"].flatMap((key) => short(field(part, key)) ?? []);
  return `[resource ${[short(field(part, "uri")) ?? "without an address", ...said].join(", ")}]`;
}

/** Of a server's own words about a part, enough to know what it is. */
function short(value: unknown): string | undefined {
  const text = textIn(value);
  if (text === undefined || text === "") return undefined;
  return text.length <= 1_000 ? text : `${text.slice(0, 1_000)}...`;
}
