import { InvalidValueError } from "../errors/errors.ts";
import { ownPart } from "../model/check-part.ts";
import type { Attachment, TextPart, UserMessage } from "../model/messages.ts";

const TYPES = ["image", "file"] as const;

/** A frozen copy of what comes with an input; undefined if nothing does. Throws an `InvalidValueError` if it is something else. */
export function ownAttachments(field: string, given: unknown): readonly Attachment[] | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given))
    throw new InvalidValueError({ field, value: given, expected: "an array of images and files" });
  if (given.length === 0) return undefined;
  // Unlike `map`, it does not pass over holes.
  return Object.freeze(Array.from(given, (part: unknown, at) => ownPart(`${field}[${at}]`, part, TYPES)));
}

/** The user message for an input. What comes with it stands before the text: models understand a question better after its picture. */
export function userMessage(input: string, attachments: readonly Attachment[] | undefined): UserMessage {
  if (attachments === undefined || attachments.length === 0) return { role: "user", content: input };
  // Some providers refuse a blank text.
  const text: readonly TextPart[] = input.trim() === "" ? [] : [Object.freeze({ type: "text", text: input })];
  return { role: "user", content: Object.freeze([...attachments, ...text]) };
}
