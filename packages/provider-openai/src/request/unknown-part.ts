import { field, type Notice, textIn } from "@ravi/kernel/provider";

/** What the model reads in the place of a part of a kind that came up elsewhere; whoever listens is told the same. */
export function unknownPart(part: unknown, notice: Notice): string {
  const kind = textIn(field(part, "type"));
  const what = kind === undefined ? "no known kind" : `the kind ${JSON.stringify(kind.slice(0, 40))}`;
  const text = `a part of ${what} was left out: it cannot be sent here`;
  notice(text);
  return `[${text}]`;
}
