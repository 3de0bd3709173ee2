import type { FilePart, ImagePart } from "../model/messages.ts";

/** The text that the model reads instead of an image or file that could not be sent. */
export function leftOut(part: ImagePart | FilePart, why: string): string {
  const what = part.type === "image" ? "an image" : `the file ${part.name ?? `(${part.mediaType})`}`;
  return `[${what} was left out: ${why}]`;
}
