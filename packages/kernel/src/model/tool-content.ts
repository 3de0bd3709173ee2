import { InvalidValueError } from "../errors/errors.ts";
import { type GivenPart, ownPart } from "./check-part.ts";

const TYPES = ["text", "image", "file"] as const;

/** What a tool tells the model in parts, such as a picture. Make it with `toolContent`. */
export interface ToolContent {
  readonly parts: readonly GivenPart[];
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
  const own = Array.from(parts as readonly unknown[], (part, at) =>
    ownPart(`toolContent[${at}]`, part, TYPES),
  );
  // Not enumerable, so that a tool's own tests can compare what it returns.
  return Object.freeze(Object.defineProperty({ parts: Object.freeze(own) }, MARK, { value: true }));
}

/** Whether a tool has returned what `toolContent` makes. */
export function isToolContent(value: unknown): value is ToolContent {
  return typeof value === "object" && value !== null && MARK in value;
}
