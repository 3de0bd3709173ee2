/** Response headers: those of `fetch`, or any object that finds a header by its lower-case name. */
export interface HeaderSource {
  get(name: string): string | null | undefined;
}

/** How long the server asks to wait, in milliseconds. Undefined if it says nothing that can be understood. */
export function retryAfterMs(headers: HeaderSource | undefined, now: number): number | undefined {
  const exact = amount(headers?.get("retry-after-ms"), 1);
  if (exact !== undefined) return exact;
  const text = headers?.get("retry-after")?.trim() ?? "";
  const seconds = amount(text, 1_000);
  if (seconds !== undefined) return seconds;
  const at = httpDate(text);
  // By the server's own clock, if it says what time it is there: this one may be wrong.
  return at === undefined ? undefined : Math.max(0, at - (httpDate(headers?.get("date")) ?? now));
}

function httpDate(given: string | null | undefined): number | undefined {
  const text = given?.trim() ?? "";
  // `Date.parse` accepts almost anything, even "-5". HTTP dates begin with a day's name and end in GMT.
  if (!/^[A-Za-z]{3,9},? .{5,40} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

function amount(text: string | null | undefined, unit: number): number | undefined {
  const plain = text?.trim() ?? "";
  return /^\d{1,12}(?:\.\d{1,9})?$/.test(plain) ? Math.ceil(Number(plain) * unit) : undefined;
}

/**
 * Encodes a text for a header. Headers are ASCII only, but agent names, which keys are made of, may be in any script. Two
 * different texts never give the same header: `%` is encoded too, and so are spaces, which would be trimmed at the ends.
 */
export function headerText(text: string): string {
  return text.toWellFormed().replaceAll(/[^!-$&-~]/gu, (letter) => encodeURIComponent(letter));
}

/** Header names in lower case, so that a user's header replaces the client's own. */
export function lowerCased(headers: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
