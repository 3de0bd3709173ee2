import type { FilePart, ImagePart } from "@ravi/kernel";
import { leftOut, type Notice, unknownLeftOut } from "@ravi/kernel/provider";

/** The text that replaces an image or file that cannot be sent. It is logged too. */
export function leftOutPart(part: ImagePart | FilePart, why: string, notice: Notice): string {
  notice(`an image or file is left out: ${why}`);
  return leftOut(part, why);
}

/** The same for a part of an unknown type, for example one of a newer version. */
export function unknownPart(part: unknown, notice: Notice): string {
  const text = unknownLeftOut(part);
  notice(text.slice(1, -1));
  return text;
}
