import { type AgentRunContext, checkFields, checkInteger, InvalidValueError } from "@ravi/kernel";
import { trip } from "../guard.ts";
import { checkFunction, checkNumber, checkWord } from "../common/options.ts";
import { sleep } from "../common/timer.ts";
import type { AgentMiddleware } from "../types.ts";

export interface RateLimiterOptions {
  /** How many runs may begin within a window. Default: 60. */
  readonly limit?: number | undefined;
  /** Milliseconds. Default: 60,000. */
  readonly windowMs?: number | undefined;
  /**
   * What happens to a run beyond the limit: it is refused, or waits until there is room, in the order of arrival. Default:
   * "refuse".
   */
  readonly onExceed?: "refuse" | "wait" | undefined;
  /** With `wait`: a run that would have to wait longer than this is refused. Milliseconds; default: one window. */
  readonly maxWaitMs?: number | undefined;
  /** Runs with the same key are counted together. Default: the tenant's id; runs without a tenant form one group. */
  readonly key?: ((context: AgentRunContext) => string) | undefined;
}

const LAYER = "rateLimiter";
/** The number of groups from which on groups that were idle for a whole window are dropped. */
const SWEEP_AT = 1_000;

/**
 * Limits how many runs may begin within any period of `windowMs`. The window slides, so there is no moment at which all counts
 * are reset.
 */
export function rateLimiter(options: RateLimiterOptions = {}): AgentMiddleware {
  checkFields(LAYER, options, ["limit", "windowMs", "onExceed", "maxWaitMs", "key"]);
  checkFunction(`${LAYER}.key`, options.key);
  const limit = checkInteger(`${LAYER}.limit`, options.limit ?? 60, 1);
  const windowMs = checkNumber(`${LAYER}.windowMs`, options.windowMs ?? 60_000, 1);
  const onExceed = checkWord(`${LAYER}.onExceed`, options.onExceed ?? "refuse", ["refuse", "wait"]);
  const maxWaitMs = checkNumber(`${LAYER}.maxWaitMs`, options.maxWaitMs ?? windowMs, 0);
  const keyOf = options.key ?? ((context: AgentRunContext): string => JSON.stringify(context.meta.tenantId));
  const starts = new Map<string, number[]>();
  let sweepAt = SWEEP_AT;

  return {
    level: "agent",
    name: LAYER,
    async process(context, next) {
      const now = context.clock.now();
      if (starts.size >= sweepAt) {
        sweep(starts, now - windowMs);
        sweepAt = Math.max(SWEEP_AT, starts.size * 2);
      }
      const key: unknown = keyOf(context);
      // Each promise or object would be a group of its own, and nothing would be limited.
      if (typeof key !== "string")
        throw new InvalidValueError({ field: `${LAYER}.key()`, value: key, expected: "a string" });
      const times = dropUntil(starts.get(key) ?? [], now - windowMs);
      // No waiting run can have a start time later than this.
      capAt(times, onExceed === "wait" ? now + maxWaitMs : now);
      starts.set(key, times);
      const waitMs = waitFor(times, now, limit, windowMs);
      if (waitMs > 0 && (onExceed === "refuse" || waitMs > maxWaitMs)) {
        trip(
          context,
          LAYER,
          `the limit of ${limit} runs within ${windowMs} ms is reached; the next run may start in ${Math.ceil(waitMs)} ms`,
        );
      }
      // The slot is taken before the wait, so that waiting runs begin one after the other.
      const at = now + waitMs;
      times.push(at);
      if (waitMs > 0) await waitForTurn(context, waitMs, times, at);
      await next();
    },
  };
}

/** How long from now until there is room for one more run, in milliseconds. `times` are sorted. */
function waitFor(times: readonly number[], now: number, limit: number, windowMs: number): number {
  const blocking = times[times.length - limit];
  return blocking === undefined ? 0 : Math.max(0, blocking + windowMs - now);
}

async function waitForTurn(
  context: AgentRunContext,
  waitMs: number,
  times: number[],
  at: number,
): Promise<void> {
  try {
    await sleep(context.clock, waitMs, context.signal);
  } catch (error) {
    const place = times.indexOf(at);
    if (place !== -1) times.splice(place, 1);
    throw error;
  }
}

function dropUntil(times: number[], until: number): number[] {
  const first = times.findIndex((time) => time > until);
  if (first !== 0) times.splice(0, first === -1 ? times.length : first);
  return times;
}

/**
 * A start time later than possible was recorded before the clock was set back. It must not block until the clock gets there
 * again.
 */
function capAt(times: number[], latest: number): void {
  for (let at = times.length - 1; at >= 0 && (times[at] ?? latest) > latest; at--) times[at] = latest;
}

function sweep(starts: Map<string, number[]>, until: number): void {
  for (const [key, times] of starts) if ((times.at(-1) ?? until) <= until) starts.delete(key);
}
