import { type AgentRunContext, checkFields, checkInteger } from "@ravi/kernel";
import { trip } from "../guard.ts";
import { checkFunction, checkNumber, checkWord } from "../options.ts";
import { sleep } from "../timer.ts";
import type { AgentMiddleware } from "../types.ts";

export interface RateLimiterOptions {
  /** How many runs may begin within a window. Default 60. */
  readonly limit?: number | undefined;
  /** Default 60,000. */
  readonly windowMs?: number | undefined;
  /** What happens to one too many. Default: it is refused. `wait` lets it begin as soon as there is room, in the order asked. */
  readonly onExceed?: "refuse" | "wait" | undefined;
  /** With `wait`: a longer wait is refused. Default: one window. */
  readonly maxWaitMs?: number | undefined;
  /** What is counted together. Default: a tenant's runs; runs without a tenant are one group. */
  readonly key?: ((context: AgentRunContext) => string) | undefined;
}

const LAYER = "rateLimiter";
/** How many groups may be kept before those that have been quiet for a window are dropped. */
const SWEEP_AT = 1_000;

/** So many runs in any stretch of time as long as the window. The window slides: there is no moment at which all is allowed again. */
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
      const key = keyOf(context);
      const times = forget(starts.get(key) ?? [], now - windowMs);
      // In a wait no place is further off than that.
      bound(times, onExceed === "wait" ? now + maxWaitMs : now);
      starts.set(key, times);
      const waitMs = waitFor(times, now, limit, windowMs);
      if (waitMs > 0 && (onExceed === "refuse" || waitMs > maxWaitMs)) {
        trip(
          context,
          LAYER,
          `${limit} runs within ${windowMs} ms have begun; the next may begin in ${Math.ceil(waitMs)} ms`,
        );
      }
      // The place is taken before the wait, so that those who wait begin one after the other.
      const at = now + waitMs;
      times.push(at);
      if (waitMs > 0) await waitOrLeave(context, waitMs, times, at);
      await next();
    },
  };
}

/** How long from now until there is room for one more. `times` are in order. */
function waitFor(times: readonly number[], now: number, limit: number, windowMs: number): number {
  const blocking = times[times.length - limit];
  return blocking === undefined ? 0 : Math.max(0, blocking + windowMs - now);
}

async function waitOrLeave(
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

function forget(times: number[], until: number): number[] {
  const first = times.findIndex((time) => time > until);
  if (first !== 0) times.splice(0, first === -1 ? times.length : first);
  return times;
}

/** A start that is later than any can be was counted before the clock went back. It must not block until the clock is there again. */
function bound(times: number[], latest: number): void {
  for (let at = times.length - 1; at >= 0 && (times[at] ?? latest) > latest; at--) times[at] = latest;
}

function sweep(starts: Map<string, number[]>, until: number): void {
  for (const [key, times] of starts) if ((times.at(-1) ?? until) <= until) starts.delete(key);
}
