import { durationMs } from "../errors/asked-wait.ts";
import type { HeaderSource } from "./headers.ts";

/** The headers of each limit that OpenAI, Anthropic and servers like them report: what is left of it, and when it is whole again. */
const LIMITS: readonly (readonly [left: string, reset: string])[] = [
  ...["requests", "tokens"].map(
    (what) => [`x-ratelimit-remaining-${what}`, `x-ratelimit-reset-${what}`] as const,
  ),
  ...["requests", "tokens", "input-tokens", "output-tokens"].map(
    (what) => [`anthropic-ratelimit-${what}-remaining`, `anthropic-ratelimit-${what}-reset`] as const,
  ),
];

/** Nobody asks to wait until a limit is whole again: it comes back bit by bit, and a part of it may be enough. */
const MAX_WAIT_MS = 60_000;

/**
 * How long until the limits that are used up are whole again, in milliseconds, but at most a minute. If the server does not say what is
 * left, any limit may be the one, and the first that is back is waited for. Undefined if there is something left of each: then nobody
 * knows which of them the request was too large for.
 */
export function resetMs(headers: HeaderSource | undefined, now: number): number | undefined {
  const usedUp: number[] = [];
  const unknown: number[] = [];
  for (const [leftName, resetName] of LIMITS) {
    const left = headers?.get(leftName)?.trim() ?? "";
    const waitMs = untilMs(headers?.get(resetName)?.trim() ?? "", now);
    if (waitMs === undefined) continue;
    if (!/^-?\d+$/.test(left)) unknown.push(waitMs);
    else if (Number(left) <= 0) usedUp.push(waitMs);
  }
  if (usedUp.length > 0) return Math.min(Math.max(...usedUp), MAX_WAIT_MS);
  return unknown.length === 0 ? undefined : Math.min(...unknown, MAX_WAIT_MS);
}

/** OpenAI writes a duration ("6m0s", "88ms"), Azure seconds, and Anthropic a time. */
function untilMs(text: string, now: number): number | undefined {
  if (/^(?:\d{1,9}(?:\.\d{1,12})?(?:ms|[smhd])){1,5}$/.test(text)) return durationMs(text);
  if (/^\d{1,6}(?:\.\d{1,9})?$/.test(text)) return durationMs(`${text}s`);
  if (!/^\d{4}-\d\d-\d\dT[\d:.]{5,20}(?:Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
