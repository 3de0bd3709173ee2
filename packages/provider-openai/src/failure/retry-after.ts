/** How long the server asks to wait, in milliseconds; undefined where it does not say so in a way that can be read. */
export function retryAfterMs(headers: Pick<Headers, "get"> | undefined, now: number): number | undefined {
  const exact = amount(headers?.get("retry-after-ms"), 1);
  if (exact !== undefined) return exact;
  const text = headers?.get("retry-after")?.trim() ?? "";
  const seconds = amount(text, 1_000);
  if (seconds !== undefined) return seconds;
  // Only the dates of HTTP, which end in GMT: `Date.parse` makes a date of "-1" as well.
  if (!/^[A-Z][a-z]+,? .{5,40} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

function amount(text: string | null | undefined, unit: number): number | undefined {
  if (text === null || text === undefined || !/^\d{1,12}(?:\.\d{1,9})?$/.test(text.trim())) return undefined;
  return Math.ceil(Number(text) * unit);
}
