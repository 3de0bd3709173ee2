import { APIError } from "@anthropic-ai/sdk";
import { ErrorKind } from "@ravi/kernel";
import { fieldsOf, isObject } from "@ravi/kernel/provider";
import { classifyReport, readReport } from "../failure/reported.ts";
import type { Body } from "./body.ts";

/** A parameter that a server does not take, as a path into the body: the answer can do without each of these. */
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

/** A shape of the answer that structured output cannot be made to give; a tool still can. */
const UNFIT_SHAPE = /(?:schema|grammar) is too (?:complex|large)|(?:circular|recursive) (?:ref|schema)/i;

/**
 * What to leave out of a request that a server refused for a parameter that it names. A value that is out of range is the
 * caller's mistake and stays; so does the limit of the answer, because the budget was reserved by it.
 */
export function correctionOf(error: unknown, sent: Body): Correction | undefined {
  const { status, error: body } = fieldsOf(error);
  if (!(error instanceof APIError) || (status !== 400 && status !== 422)) return undefined;
  const report = readReport(body);
  // A prompt that was filtered or is too long was read before it was refused, and some platforms charge for that.
  const { kind } = classifyReport(report, status);
  if (kind === ErrorKind.CONTENT_BLOCKED || kind === ErrorKind.CONTEXT_OVERFLOW) return undefined;
  const { message } = report;
  if (UNFIT_SHAPE.test(message) && has(sent, "output_config.format")) return "output_config.format";
  if (!NOT_TAKEN.test(message)) return undefined;
  const named = OPTIONAL.filter((path) => has(sent, path) && place(message, path) !== -1);
  // The one that is named first: what to use instead comes after it. Of a path and its beginning, the longer.
  return named.toSorted((a, b) => place(message, a) - place(message, b) || b.length - a.length)[0];
}

/** The body without what the server does not take. */
export function corrected(body: Body, corrections: Iterable<Correction>): Body {
  const result: Record<string, unknown> = { ...body };
  for (const path of corrections) {
    const [key = "", inner] = path.split(".");
    const value = result[key];
    if (inner === undefined) Reflect.deleteProperty(result, key);
    else if (isObject(value)) {
      const { [inner]: _, ...rest } = value;
      if (Object.keys(rest).length === 0) Reflect.deleteProperty(result, key);
      else result[key] = rest;
    }
  }
  return result;
}

function has(body: Body, path: string): boolean {
  const [key = "", inner] = path.split(".");
  return inner === undefined ? key in body : inner in fieldsOf(body[key]);
}

/** Where a message speaks of a parameter: by its whole path, or by its last word. */
function place(message: string, path: string): number {
  const whole = message.indexOf(path);
  return whole === -1 ? message.search(new RegExp(`\\b${path.split(".").at(-1)}\\b`)) : whole;
}
