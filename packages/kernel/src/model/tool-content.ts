import { InvalidValueError } from "../errors/errors.ts";
import type { FilePart, ImagePart, TextPart } from "./messages.ts";

/** What a tool tells the model in parts, such as a picture. Make it with `toolContent`. */
export interface ToolContent {
  readonly parts: readonly (TextPart | ImagePart | FilePart)[];
}

/**
 * Marks what `toolContent` has made. A symbol, because data that a tool has got from elsewhere must not pass for it: a server could make
 * the model's provider fetch a URL of its choice. Registered, so that two copies of the kernel have the same.
 */
const MARK = Symbol.for("@ravi/kernel:toolContent");

/**
 * Lets a tool show the model pictures and files: `return toolContent([{ type: "image", url }])`, with `data:` or `https:` URLs. Providers
 * that cannot send a part to their model tell it what was left out.
 */
export function toolContent(parts: ToolContent["parts"]): ToolContent {
  if (!Array.isArray(parts))
    throw new InvalidValueError({ field: "toolContent", value: parts, expected: "an array of parts" });
  const own = Array.from(parts as readonly unknown[], checkPart);
  // Not enumerable, so that a tool's own tests can compare what it returns.
  return Object.freeze(Object.defineProperty({ parts: Object.freeze(own) }, MARK, { value: true }));
}

/** Whether a tool has returned what `toolContent` makes. */
export function isToolContent(value: unknown): value is ToolContent {
  return typeof value === "object" && value !== null && MARK in value;
}

/** A copy, so that a tool cannot change later what is on record. */
function checkPart(given: unknown, at: number): ToolContent["parts"][number] {
  const part = (typeof given === "object" ? given : null) as Readonly<Record<string, unknown>> | null;
  const refuse = (name: string, value: unknown, expected: string): never => {
    throw new InvalidValueError({ field: `toolContent[${at}]${name}`, value, expected });
  };
  if (part?.type !== "text" && part?.type !== "image" && part?.type !== "file")
    return refuse("", given, 'a part of the type "text", "image" or "file"');
  const { type, text, url, mediaType } = part;
  if (type === "text" && typeof text !== "string") refuse(".text", text, "a string");
  if (type !== "text" && (typeof url !== "string" || url === ""))
    refuse(".url", url, "a data: or https: URL, or the id of a file that was uploaded to the provider");
  if (type === "file" && typeof mediaType !== "string")
    refuse(".mediaType", mediaType, 'a media type, such as "application/pdf"');
  return Object.freeze({ ...(given as ToolContent["parts"][number]) });
}
