import { ErrorCode, ErrorKind, type ModelEvent } from "@ravi/kernel";
import { secretPatterns, secretRemover } from "@ravi/kernel/loop";
import { FINISH_REASONS } from "../answers/plan.ts";

/** Returns a copy without secrets. */
export type Redact = <T>(value: T) => T;

const REDACTED = "[redacted]";

const PATTERNS = secretPatterns(REDACTED);

/**
 * Removes secrets from every text inside a value. Redacting twice gives the same as redacting once, so a recorded request still
 * matches.
 */
export function redactor(more: readonly (string | RegExp)[]): Redact {
  const withoutTexts = secretRemover(
    more.filter((each) => typeof each === "string"),
    REDACTED,
  );
  const patterns = more.flatMap((each) =>
    typeof each === "string"
      ? []
      : [new RegExp(each.source, each.flags.includes("g") ? each.flags : `${each.flags}g`)],
  );
  const clean = (text: string): string => {
    let result = withoutTexts(text);
    for (const secret of patterns) result = outside(result, (piece) => piece.replaceAll(secret, REDACTED));
    for (const [pattern, replacement] of PATTERNS) result = result.replaceAll(pattern, replacement);
    return result;
  };
  // Through JSON, because that is what is written, and it reaches every text at any depth.
  return <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
      typeof inner === "string" && FORMAT.get(key)?.has(inner) !== true ? clean(inner) : inner,
    ) as T;
}

/** Words of the format itself. They are never secrets, however broad a pattern of the user is. */
const FORMAT: ReadonlyMap<string, ReadonlySet<string>> = new Map<string, ReadonlySet<string>>([
  ["role", new Set(["system", "user", "assistant", "tool"])],
  ["type", new Set(["text", "image", "file", "reasoning", "toolCall", "finish"])],
  ["finishReason", new Set(FINISH_REASONS)],
  ["code", new Set(Object.values(ErrorCode))],
  ["kind", new Set(Object.values(ErrorKind))],
]);

/** Applies `change` to everything except earlier replacements, which might look like another secret. */
function outside(text: string, change: (piece: string) => string): string {
  return text.includes(REDACTED) ? text.split(REDACTED).map(change).join(REDACTED) : change(text);
}

/**
 * A secret may be split over several deltas, none of which looks like one. If the joined text of a channel contains one, its
 * deltas are replaced by a single one with the clean text.
 */
export function redactEvents(events: readonly ModelEvent[], redact: Redact): readonly ModelEvent[] {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.type !== "finish")
      texts.set(channelOf(event), (texts.get(channelOf(event)) ?? "") + event.delta);
  }
  const clean = new Map([...texts].map(([channel, text]) => [channel, redact(text)]));
  const started = new Set<string>();
  return events.flatMap((event): ModelEvent[] => {
    if (event.type === "finish") return [redact(event)];
    const channel = channelOf(event);
    if (clean.get(channel) === texts.get(channel)) return [event];
    if (started.has(channel)) return [];
    started.add(channel);
    return [{ ...event, delta: clean.get(channel) ?? "" }];
  });
}

function channelOf(event: Exclude<ModelEvent, { type: "finish" }>): string {
  return event.type === "toolCall" ? `toolCall ${event.index}` : event.type;
}
