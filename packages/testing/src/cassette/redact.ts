import { ErrorCode, ErrorKind, type ModelEvent } from "@ravi/kernel";
import { secretForms, secretPatterns } from "@ravi/kernel/loop";

export type Redact = <T>(value: T) => T;

const REDACTED = "[redacted]";

const PATTERNS = secretPatterns(REDACTED);

/**
 * Takes secrets out of every text inside a value. What was redacted stays the same when it is redacted again, so a request
 * is the same before and after.
 */
export function redactor(more: readonly (string | RegExp)[]): Redact {
  // As it stands in a JSON text too: that is what the arguments of a tool call are.
  const forms = more.flatMap((each) => (typeof each === "string" && each !== "" ? secretForms(each) : []));
  const texts = [...new Set(forms)].toSorted(longestFirst);
  const patterns = more.flatMap((each) =>
    typeof each === "string"
      ? []
      : [new RegExp(each.source, each.flags.includes("g") ? each.flags : `${each.flags}g`)],
  );
  const clean = (text: string): string => {
    let result = text;
    for (const secret of [...texts, ...patterns])
      result = outside(result, (piece) => piece.replaceAll(secret, REDACTED));
    for (const [pattern, replacement] of PATTERNS) result = result.replaceAll(pattern, replacement);
    return result;
  };
  // Through JSON: that is what is written, and it takes every text with it, however deep.
  return <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
      typeof inner === "string" && FORMAT.get(key)?.has(inner) !== true ? clean(inner) : inner,
    ) as T;
}

/** Words by which a message, an answer or an error is read. They are no secrets, however broad a pattern is. */
const FORMAT: ReadonlyMap<string, ReadonlySet<string>> = new Map<string, ReadonlySet<string>>([
  ["role", new Set(["system", "user", "assistant", "tool"])],
  ["type", new Set(["text", "image", "file", "reasoning", "toolCall", "finish"])],
  ["finishReason", new Set(["stop", "toolCalls", "length", "refused", "filtered", "other"])],
  ["code", new Set(Object.values(ErrorCode))],
  ["kind", new Set(Object.values(ErrorKind))],
]);

/** All but what stands in a secret's place already: that may look like another one. */
function outside(text: string, change: (piece: string) => string): string {
  return text.includes(REDACTED) ? text.split(REDACTED).map(change).join(REDACTED) : change(text);
}

/** None must leave the rest of another behind. */
function longestFirst(a: string, b: string): number {
  return b.length - a.length;
}

/** A secret may come in pieces, none of which looks like one. What hides one is then kept as a single, clean piece. */
export function redactEvents(events: readonly ModelEvent[], redact: Redact): readonly ModelEvent[] {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type !== "finish")
      texts.set(channelOf(event), (texts.get(channelOf(event)) ?? "") + event.delta);
  }
  const clean = new Map([...texts].map(([channel, text]) => [channel, redact(text)]));
  const told = new Set<string>();
  return events.flatMap((event): ModelEvent[] => {
    if (event.type === "finish") return [redact(event)];
    const channel = channelOf(event);
    if (clean.get(channel) === texts.get(channel)) return [event];
    if (told.has(channel)) return [];
    told.add(channel);
    return [{ ...event, delta: clean.get(channel) ?? "" }];
  });
}

function channelOf(event: Exclude<ModelEvent, { type: "finish" }>): string {
  return event.type === "toolCall" ? `toolCall ${event.index}` : event.type;
}
