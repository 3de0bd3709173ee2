import { field } from "@ravi/kernel/provider";

interface NamedEvent {
  readonly event: unknown;
  readonly type: string;
}

/** Returns the events to process. Repeats are dropped: a proxy that reconnects sends again what it sent before. */
export type Unrepeated = (event: unknown, type: string) => readonly NamedEvent[];

/**
 * An event is a repeat if its sequence number came before with the same content. Some servers give all events the same number, or
 * start again with each item. As soon as one number comes with two different contents, numbers are not trusted any more and nothing
 * is dropped.
 */
export function unrepeated(): Unrepeated {
  const seen = new Map<number, string>();
  let isTrusted = true;
  let last: number | undefined;
  /**
   * Apparent repeats under the last number. They may be real events, which is known only if the same number comes with other
   * content.
   */
  let held: NamedEvent[] = [];

  return (event, type) => {
    const number = field(event, "sequence_number");
    const named = { event, type };
    if (!isTrusted || typeof number !== "number" || number <= 0) return [named];
    if (number !== last) held = [];
    const isStill = number === last;
    const known = seen.get(number);
    const said = contentOf(event, type);
    last = number;
    if (known === said) {
      if (isStill) held.push(named);
      return [];
    }
    if (known === undefined) {
      seen.set(number, said);
      return [named];
    }
    isTrusted = false;
    seen.clear();
    return [...held, named];
  };
}

/** The item's id counts only if there is no index, since some servers give each event a new id. */
function contentOf(event: unknown, type: string): string {
  const item = field(event, "output_index") ?? field(event, "item_id");
  const part = field(event, "content_index") ?? field(event, "summary_index");
  return JSON.stringify([type, item, part, field(event, "delta")]);
}
