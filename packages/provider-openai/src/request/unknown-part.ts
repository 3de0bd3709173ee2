import { field, type Notice, textIn } from "@ravi/kernel/provider";

/** The text that replaces a part of an unknown type, for example one of a newer version. It is logged too. */
export function unknownPart(part: unknown, notice: Notice): string {
  const kind = textIn(field(part, "type"));
  const what = kind === undefined ? "an unknown type" : `the type ${JSON.stringify(kind.slice(0, 40))}`;
  const text = `a part of ${what} was left out: it cannot be sent here`;
  notice(text);
  return `[${text}]`;
}
