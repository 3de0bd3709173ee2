import { isError } from "../core/is-error.ts";
import { field, stringOr } from "./json.ts";
import type { Scrub } from "./scrub.ts";

const MAX_CAUSES = 4;
const MAX_FRAMES = 20;
const MAX_TEXT = 1_000;

/** A copy of an error that is safe to show: the original may hold headers, bodies and stacks with secrets in them. */
export function safeCause(error: unknown, scrub: Scrub): Error | undefined {
  return copyOf(error, scrub, MAX_CAUSES);
}

function copyOf(error: unknown, scrub: Scrub, left: number): Error | undefined {
  if (!isError(error) || left === 0) return undefined;
  const cause = copyOf(error.cause, scrub, left - 1);
  const copy = new Error(clip(scrub(stringOr(error.message, ""))), cause === undefined ? {} : { cause });
  const name = scrub(nameOf(error));
  const hidden = { configurable: true, writable: true, enumerable: false };
  Object.defineProperty(copy, "name", { ...hidden, value: name });
  Object.defineProperty(copy, "stack", {
    ...hidden,
    value: [`${name}: ${copy.message}`, ...framesOf(error, scrub)].join("\n"),
  });
  const code = field(error, "code");
  if (typeof code === "string") Object.assign(copy, { code: clip(scrub(code)) });
  return copy;
}

/** Official clients leave `name` at "Error"; the name of the class says more. */
function nameOf(error: Error): string {
  const name = stringOr(error.name, "Error");
  return name === "Error" ? stringOr(error.constructor.name, "") || name : name;
}

/** Only the frames of the stack: the lines above them repeat the original message. */
function framesOf(error: Error, scrub: Scrub): readonly string[] {
  const frames = stringOr(error.stack, "")
    .split("\n")
    .filter((line) => line.startsWith("    at "));
  return frames.slice(0, MAX_FRAMES).map((frame) => scrub(frame).slice(0, 300));
}

export function clip(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}...`;
}
