import { InvalidValueError, type JsonValue } from "@ravi/kernel";

/**
 * In bytes. The server refuses a message of 32 MiB and would retry it for ever, so values near that size are refused where they are
 * made. The limit is not lower, since a result has been paid for. The rest is for the other fields of a message and the rest of the
 * tree's state.
 */
export const MOST = 24 * 1024 * 1024;

/** The size of a value as JSON on the wire. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value ?? null));
}

/** How large a part may be. Its bytes are those of its items, which `sizeOf` gives. */
interface PartLimits<T> {
  readonly mostItems: number;
  readonly mostBytes: number;
  readonly sizeOf: (item: T) => number;
}

/** The items in parts that are not too large. An item that is has a part of its own. */
export function* inParts<T>(
  items: readonly T[],
  { mostItems, mostBytes, sizeOf }: PartLimits<T>,
): Generator<readonly T[]> {
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = sizeOf(item);
    if (part.length > 0 && (part.length === mostItems || bytes + more > mostBytes)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += more;
  }
  if (part.length > 0) yield part;
}

/** Throws an `InvalidValueError` if the value is too large. */
export function checkSize(field: string, value: JsonValue): void {
  const bytes = bytesOf(value);
  if (bytes > MOST) throw tooLarge(field, bytes);
}

export function tooLarge(field: string, bytes: number): InvalidValueError {
  const expected = `at most ${MOST} bytes as JSON; store it elsewhere and pass a reference to it`;
  return new InvalidValueError({ field, value: `${bytes} bytes`, expected });
}
