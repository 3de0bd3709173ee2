import { type Clock, systemClock, type TimerHandle } from "@ravi/kernel";
import { withTimers } from "@ravi/kernel/loop";

export type SetTimer = (callback: () => void, delayMs: number) => TimerHandle;

/** The clock's timers, or the platform's if it has none: a hanging listener must be cut off in any case. */
export function timersOf(clock: Clock | undefined): SetTimer {
  return clock?.setTimer?.bind(clock) ?? platformTimer;
}

const platform = withTimers(systemClock, globalThis);

/** Does not keep the process alive, unless `ref` is called: a hanging listener is no reason to stay alive. */
function platformTimer(callback: () => void, delayMs: number): TimerHandle {
  const timer = platform.setTimer(callback, delayMs);
  timer.unref?.();
  return timer;
}
