import type { FilePart, ImagePart } from "../model/messages.ts";
import { field, textIn } from "./json.ts";
import type { Notice } from "./notices.ts";

/** The text that the model reads instead of an image or file that cannot be sent. What it was is logged too, without its name. */
export function leftOut(
  part: ImagePart | FilePart,
  why: string,
  notice: Notice,
  logged = `${part.type === "image" ? "an image" : `a file (${part.mediaType})`} is left out: ${why}`,
): string {
  notice(logged);
  const what = part.type === "image" ? "an image" : `the file ${part.name ?? `(${part.mediaType})`}`;
  return `[${what} was left out: ${why}]`;
}

/** The same for a part of an unknown type, for example one of a newer version. */
export function unknownLeftOut(part: unknown, notice: Notice): string {
  const kind = textIn(field(part, "type"));
  const what = kind === undefined ? "an unknown type" : `the type ${JSON.stringify(kind.slice(0, 40))}`;
  const text = `a part of ${what} was left out: it cannot be sent here`;
  notice(text);
  return `[${text}]`;
}
