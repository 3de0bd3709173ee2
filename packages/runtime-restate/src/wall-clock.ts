import { systemClock } from "@ravi/kernel";
import { type TimerClock, withTimers } from "@ravi/kernel/loop";

/** Real time. Long waits use the server's timers; these timers are for graces and timeouts of tools. */
export const wallClock: TimerClock = Object.freeze(withTimers(systemClock, globalThis));
