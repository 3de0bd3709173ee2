import { field } from "../core/field.ts";

/** How servers write it: "try again in 23.03s", "retry after 45 seconds", "in 9m38.016s", "in 1 minute and 30 seconds". */
const ASKED =
  /(?:retry|try again) (?:in|after) ((?:\d{1,9}(?:\.\d{1,12})? ?(?:ms|[smhd]|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?)(?![a-z])(?:,? (?:and )?)?){1,4})/i;
/** The first letter of a unit says which it is, except for milliseconds. */
const AMOUNT = /([\d.]+) ?(ms|[smhd])/gi;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * How long the words of an error ask to wait, in milliseconds. Undefined if they do not say. Some servers say it only there: Gemini
 * sends no header, and an error inside a stream cannot have one.
 */
export function askedWaitMs(message: string): number | undefined {
  const [, asked] = ASKED.exec(message) ?? [];
  return asked === undefined ? undefined : durationMs(asked);
}

/** How long the details of Google's errors ask to wait (`google.rpc.RetryInfo`), in milliseconds. Undefined if they do not say. */
export function detailedWaitMs(parts: readonly unknown[]): number | undefined {
  for (const part of parts) {
    const details = field(part, "details");
    for (const detail of Array.isArray(details) ? details : []) {
      const delay = field(detail, "retryDelay");
      if (typeof delay === "string" && /^\d{1,9}(?:\.\d{1,9})?s$/.test(delay)) return durationMs(delay);
    }
  }
  return undefined;
}

/** The sum of all amounts with a unit, in milliseconds. */
export function durationMs(text: string): number {
  let waitMs = 0;
  for (const [, amount, unit = ""] of text.matchAll(AMOUNT))
    waitMs += Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 0);
  // Rounded up, but not because of the last digits of a product such as 4.077 * 1000.
  return Math.ceil(Number(waitMs.toFixed(3)));
}
