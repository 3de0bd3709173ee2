import { InvalidValueError, type JsonValue } from "@ravi/kernel";

/** The server refuses a message of 32 MiB and would try it for ever: what comes near is refused here, by whoever says it. */
export const MOST = 8 * 1024 * 1024;

/** As it crosses the wire. A character is three bytes at most there, so that short texts need not be counted. */
export function bytesOf(value: JsonValue): number {
  const text = JSON.stringify(value);
  return text.length * 3 <= MOST ? text.length : new TextEncoder().encode(text).length;
}

export function checkSize(field: string, value: JsonValue): void {
  const bytes = bytesOf(value);
  if (bytes > MOST) throw tooLarge(field, bytes);
}

export function tooLarge(field: string, bytes: number): InvalidValueError {
  const expected = `at most ${MOST} bytes as JSON; keep it elsewhere and say where it lies`;
  return new InvalidValueError({ field, value: `${bytes} bytes`, expected });
}
