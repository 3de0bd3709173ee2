import { UsageError } from "./errors.ts";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof UNITS;

/** `90s`, `15m`, `12h` or `30d`, in milliseconds. */
export function durationMs(option: string, text: string): number {
  const [, amount = "", unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit as Unit] ?? Number.NaN);
  if (Number.isSafeInteger(ms)) return ms;
  throw new UsageError(`${option} is ${JSON.stringify(text)}; expected a time such as 90s, 15m, 12h or 30d`);
}

/** How long something took, or is ago, in the largest unit that it fills: `3 s`, `15 min`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 36 * 3_600) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** As a date; the number itself if it is no date, which a clock or a damaged file may have given. */
export function dateOf(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString();
}
