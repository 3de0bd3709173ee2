import type { FilePart, ImagePart } from "../model/messages.ts";
import { field, textIn } from "./json.ts";

/** The text that the model reads instead of an image or file that could not be sent. */
export function leftOut(part: ImagePart | FilePart, why: string): string {
  const what = part.type === "image" ? "an image" : `the file ${part.name ?? `(${part.mediaType})`}`;
  return `[${what} was left out: ${why}]`;
}

/** The same for a part of an unknown type, for example one of a newer version. */
export function unknownLeftOut(part: unknown): string {
  const kind = textIn(field(part, "type"));
  const what = kind === undefined ? "an unknown type" : `the type ${JSON.stringify(kind.slice(0, 40))}`;
  return `[a part of ${what} was left out: it cannot be sent here]`;
}
