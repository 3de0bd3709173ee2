import { field, textIn } from "@ravi/kernel/provider";
import { short } from "../failure.ts";

/** The text that a part of a result is, also inside of a resource; undefined if it is none. */
export function textOfPart(part: unknown): string | undefined {
  const type = field(part, "type");
  if (type === "text") return textIn(field(part, "text")) ?? "";
  if (type !== "resource") return undefined;
  return textIn(field(field(part, "resource"), "text"));
}

/** A part that is no text, in words. */
export function describeLink(part: unknown, clean: (text: string) => string): string {
  const said = (key: string): string | undefined => enoughOf(field(part, key), clean);
  if (field(part, "type") !== "resource_link") return `[${said("type") ?? "unknown content"}]`;
  const more = ["name", "mimeType", "description"].flatMap((key) => said(key) ?? []);
  return `[resource ${[said("uri") ?? "without an address", ...more].join(", ")}]`;
}

/** Of a server's own words about a part, enough to know what it is. */
function enoughOf(value: unknown, clean: (text: string) => string): string | undefined {
  const text = textIn(value);
  return text === undefined || text === "" ? undefined : short(text, clean);
}
