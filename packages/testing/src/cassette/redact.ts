import type { ModelEvent } from "@ravi/kernel";
import { secretPatterns } from "@ravi/kernel/loop";

export type Redact = <T>(value: T) => T;

const REDACTED = "[redacted]";

const PATTERNS = secretPatterns(REDACTED);

/**
 * Takes secrets out of every text inside a value. What was redacted stays the same when it is redacted again, so a request
 * is the same before and after.
 */
export function redactor(more: readonly (string | RegExp)[]): Redact {
  const texts = more.filter((each) => typeof each === "string" && each !== "").toSorted(longestFirst);
  const patterns = more.flatMap((each) =>
    typeof each === "string"
      ? []
      : [new RegExp(each.source, each.flags.includes("g") ? each.flags : `${each.flags}g`)],
  );
  const clean = (text: string): string => {
    let result = text;
    for (const secret of texts) result = result.replaceAll(secret, REDACTED);
    for (const pattern of patterns) result = result.replaceAll(pattern, REDACTED);
    for (const [pattern, replacement] of PATTERNS) result = result.replaceAll(pattern, replacement);
    return result;
  };
  // Through JSON: that is what is written, and it takes every text with it, however deep.
  return <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (_, inner: unknown) =>
      typeof inner === "string" ? clean(inner) : inner,
    ) as T;
}

/** None must leave the rest of another behind. */
function longestFirst(a: string | RegExp, b: string | RegExp): number {
  return String(b).length - String(a).length;
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
