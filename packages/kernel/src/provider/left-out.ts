import type { FilePart, ImagePart } from "../model/messages.ts";

/** What the model reads in the place of a part that could not be sent. */
export function leftOut(part: ImagePart | FilePart, why: string): string {
  const what = part.type === "image" ? "an image" : `the file ${part.name ?? `(${part.mediaType})`}`;
  return `[${what} was left out: ${why}]`;
}
