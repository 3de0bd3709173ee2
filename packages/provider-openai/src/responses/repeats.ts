import { field } from "@ravi/kernel/provider";

interface NamedEvent {
  readonly event: unknown;
  readonly type: string;
}

/** Gives the events of a stream that are to be told, none twice: a proxy that connects anew sends again what was sent. */
export type Unrepeated = (event: unknown, type: string) => readonly NamedEvent[];

/**
 * An event is repeated where its number came before with the same in it. Numbers that stand for two things (some servers give
 * all events one number, some begin anew with each item) say nothing, and from then on nothing is left out.
 */
export function unrepeated(): Unrepeated {
  const seen = new Map<number, string>();
  let isTrusted = true;
  let last: number | undefined;
  /** What looked repeated while the number stood still, until another number shows that it was. */
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

/** Ids are left out where there is a place: some servers give each event an id of its own. */
function contentOf(event: unknown, type: string): string {
  const item = field(event, "output_index") ?? field(event, "item_id");
  const part = field(event, "content_index") ?? field(event, "summary_index");
  return JSON.stringify([type, item, part, field(event, "delta")]);
}
