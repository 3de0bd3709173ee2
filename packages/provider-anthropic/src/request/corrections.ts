import { APIError } from "@anthropic-ai/sdk";
import { ErrorKind } from "@ravi/kernel";
import { fieldsOf, hasField, withoutField } from "@ravi/kernel/provider";
import { classifyReport, readReport } from "../failure/reported.ts";
import type { Body } from "./body.ts";

/** Parameters that a request can do without, as paths into the body. */
const OPTIONAL = [
  "thinking",
  "output_config.format",
  "output_config.effort",
  "output_config",
  "temperature",
  "top_p",
  "top_k",
  "service_tier",
  "speed",
  "metadata",
] as const;

export type Correction = (typeof OPTIONAL)[number];

const NOT_TAKEN =
  /(?:un|not |n't )supported|(?:does|do|did) ?(?:not|n't) support|extra (?:inputs|fields)|un(?:recognized|known|expected)|not (?:permitted|allowed|available)|is deprecated|cannot be (?:used|specified|disabled)|removed/i;

/** A schema that structured output does not support. A tool can still ask for it. */
const UNFIT_SHAPE =
  /(?:schema|grammar) is too (?:complex|large)|(?:circular|recursive) (?:ref|schema)|grammar compilation|too many (?:optional )?parameters/i;

/** Servers that always think may not be told to call a tool: DeepSeek's, Kimi's. */
const NOT_FORCED = /\btool_choice\b/;

/** Whether the refusal is about the demand to call a tool, and not about the tool. The model can still be asked. */
export function isNotForced(error: unknown, sent: Body): boolean {
  const { status, error: body } = fieldsOf(error);
  const { message } = readReport(body);
  const isMeant =
    NOT_FORCED.test(message) && (NOT_TAKEN.test(message) || /\bincompatible with\b/.test(message));
  const wasForced = fieldsOf(sent["tool_choice"])["type"] !== "auto";
  return error instanceof APIError && status === 400 && isMeant && wasForced;
}

/** Whether the refusal is about this schema only, and not about structured output. */
export function isUnfitShape(error: unknown): boolean {
  const { message } = readReport(fieldsOf(error)["error"]);
  return UNFIT_SHAPE.test(message) || message.includes("output_config.format.schema");
}

/**
 * What to leave out of a request that the server refused because of one parameter; undefined if nothing fits. A value that is out
 * of range is the caller's mistake and is not corrected. The limit of output tokens is never left out, because the budget reserved
 * that many.
 */
export function correctionOf(error: unknown, sent: Body): Correction | undefined {
  const { status, error: body } = fieldsOf(error);
  if (!(error instanceof APIError) || (status !== 400 && status !== 422)) return undefined;
  const report = readReport(body);
  // A prompt that was filtered or is too long was read before it was refused, and some platforms charge for that. It must not be
  // sent again.
  const { kind } = classifyReport(report, status);
  if (kind === ErrorKind.CONTENT_BLOCKED || kind === ErrorKind.CONTEXT_OVERFLOW) return undefined;
  const { message } = report;
  if (UNFIT_SHAPE.test(message) && hasField(sent, "output_config.format")) return "output_config.format";
  if (!NOT_TAKEN.test(message)) return undefined;
  const named = OPTIONAL.filter((path) => hasField(sent, path) && place(message, path) !== -1);
  // The first parameter in the message is the refused one; the one to use instead is named after it. If a path and its beginning
  // both match, the longer one wins.
  return named.toSorted((a, b) => place(message, a) - place(message, b) || b.length - a.length)[0];
}

/** How the server says that it did not make a thought, or that it was in another answer. */
const UNREADABLE =
  /invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking|thinking`? blocks in .{0,60}cannot be modified/i;

/** How the server says that one image is broken, too large, or not what its media type says. */
const BAD_IMAGE =
  /could not process image|image (?:exceeds|dimensions exceed)|does not match the provided media type|media type, but the image appears/i;

/**
 * What the server cannot read: thoughts, as when the conversation was begun with another model or at another server, or an image. Undefined
 * if it is something else.
 */
export function unreadableOf(error: unknown): "thoughts" | "images" | undefined {
  const { status, error: body } = fieldsOf(error);
  if (!(error instanceof APIError) || status !== 400) return undefined;
  const { message } = readReport(body);
  return UNREADABLE.test(message) ? "thoughts" : BAD_IMAGE.test(message) ? "images" : undefined;
}

/** The body without the parameters that the server does not support. */
export function corrected(body: Body, corrections: Iterable<Correction>): Body {
  let left = body;
  for (const path of corrections) if (hasField(left, path)) left = withoutField(left, path);
  return left;
}

/** Where the message mentions a parameter: by its whole path, or by its last word. -1 if it does not. */
function place(message: string, path: string): number {
  const whole = message.indexOf(path);
  return whole === -1 ? message.search(new RegExp(`\\b${path.split(".").at(-1)}\\b`)) : whole;
}
