/** The headers of an answer: those of `fetch`, or whatever else finds one by its name in small letters. */
export interface HeaderSource {
  get(name: string): string | null | undefined;
}

/** How long the server asks to wait, in milliseconds; undefined where it says nothing that can be understood. */
export function retryAfterMs(headers: HeaderSource | undefined, now: number): number | undefined {
  const exact = amount(headers?.get("retry-after-ms"), 1);
  if (exact !== undefined) return exact;
  const text = headers?.get("retry-after")?.trim() ?? "";
  const seconds = amount(text, 1_000);
  if (seconds !== undefined) return seconds;
  // `Date.parse` takes almost anything for a date, "-5" too. HTTP's own begin with a day and end in GMT.
  if (!/^[A-Za-z]{3,9},? .{5,40} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function amount(text: string | null | undefined, unit: number): number | undefined {
  const plain = text?.trim() ?? "";
  return /^\d{1,12}(?:\.\d{1,9})?$/.test(plain) ? Math.ceil(Number(plain) * unit) : undefined;
}

/**
 * A header takes ASCII only, and the names of agents, which keys are made of, may be in any script. Two texts never become the same
 * header: what stands for another sign is written out too, and so are blanks, which a header loses at its ends.
 */
export function headerText(text: string): string {
  return text.toWellFormed().replaceAll(/[^!-$&-~]/gu, (letter) => encodeURIComponent(letter));
}

/** One spelling, so that a header given by a user takes the place of a client's own. */
export function lowerCased(headers: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
