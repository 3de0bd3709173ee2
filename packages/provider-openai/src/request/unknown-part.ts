import { type Notice, unknownLeftOut } from "@ravi/kernel/provider";

/** The text that replaces a part of an unknown type, for example one of a newer version. It is logged too. */
export function unknownPart(part: unknown, notice: Notice): string {
  const text = unknownLeftOut(part);
  notice(text.slice(1, -1));
  return text;
}
