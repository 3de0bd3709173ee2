import { type AgentRunContext, checkFields, checkInteger, InvalidValueError } from "@ravi/kernel";
import { checkFunction } from "@ravi/kernel/loop";
import { trip } from "../guard.ts";
import { checkNumber, checkWord } from "../common/options.ts";
import type { AgentMiddleware } from "../types.ts";
import { Turns } from "./turns.ts";

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
 * are reset. A run that is resumed after it has done something is let through, and does not count.
 */
export function rateLimiter(options: RateLimiterOptions = {}): AgentMiddleware {
  checkFields(LAYER, options, ["limit", "windowMs", "onExceed", "maxWaitMs", "key"]);
  checkFunction(`${LAYER}.key`, options.key);
  const limit = checkInteger(`${LAYER}.limit`, options.limit ?? 60, 1);
  const windowMs = checkNumber(`${LAYER}.windowMs`, options.windowMs ?? 60_000, 1);
  const onExceed = checkWord(`${LAYER}.onExceed`, options.onExceed ?? "refuse", ["refuse", "wait"]);
  const maxWaitMs = checkNumber(`${LAYER}.maxWaitMs`, options.maxWaitMs ?? windowMs, 0);
  const keyOf = options.key ?? ((context: AgentRunContext): string => JSON.stringify(context.meta.tenantId));
  const groups = new Map<string, Turns>();
  let sweepAt = SWEEP_AT;

  return {
    level: "agent",
    name: LAYER,
    async process(context, next) {
      // It was counted when it began. Refused now, it would lose what it has done and paid for.
      if (context.isResumed === true) return next();
      const now = context.clock.now();
      if (groups.size >= sweepAt) {
        for (const [key, turns] of groups) if (turns.isIdle(now)) groups.delete(key);
        sweepAt = Math.max(SWEEP_AT, groups.size * 2);
      }
      const turns = groupOf(keyOf(context));
      const waitMs = turns.waitAt(now, onExceed === "wait" ? maxWaitMs : 0);
      if (waitMs > 0 && (onExceed === "refuse" || waitMs > maxWaitMs)) {
        trip(
          context,
          LAYER,
          `the limit of ${limit} runs within ${windowMs} ms is reached; the next run may start in ${Math.ceil(waitMs)} ms`,
        );
      }
      if (waitMs > 0) await turns.wait(now + waitMs, context);
      else turns.begin(now);
      return next();
    },
  };

  function groupOf(key: unknown): Turns {
    // Each promise or object would be a group of its own, and nothing would be limited.
    if (typeof key !== "string")
      throw new InvalidValueError({ field: `${LAYER}.key()`, value: key, expected: "a string" });
    const turns = groups.get(key) ?? new Turns(limit, windowMs);
    groups.set(key, turns);
    return turns;
  }
}
