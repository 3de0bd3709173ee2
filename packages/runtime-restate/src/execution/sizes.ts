import { InvalidValueError, type JsonValue } from "@ravi/kernel";

/**
 * The server refuses a message of 32 MiB and would try it for ever: what comes near is refused here, by whoever says it. Not earlier,
 * since a result was paid for. The rest of a message, with what else is in the state of its tree, has the room that is left.
 */
export const MOST = 24 * 1024 * 1024;

/** As it crosses the wire. */
export function bytesOf(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value ?? null));
}

export function checkSize(field: string, value: JsonValue): void {
  const bytes = bytesOf(value);
  if (bytes > MOST) throw tooLarge(field, bytes);
}

export function tooLarge(field: string, bytes: number): InvalidValueError {
  const expected = `at most ${MOST} bytes as JSON; keep it elsewhere and say where it lies`;
  return new InvalidValueError({ field, value: `${bytes} bytes`, expected });
}
