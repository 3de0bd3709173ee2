import type { Clock, TimerHandle } from "@ravi/kernel";

export type SetTimer = (callback: () => void, delayMs: number) => TimerHandle;

/** The clock's timers, or the platform's if it has none: a hanging listener must be cut off in any case. */
export function timersOf(clock: Clock | undefined): SetTimer {
  if (clock?.setTimer === undefined) return platformTimer;
  return clock.setTimer.bind(clock);
}

/** Does not keep the process alive, unless `ref` is called: a hanging listener is no reason to stay alive. */
function platformTimer(callback: () => void, delayMs: number): TimerHandle {
  const timer = setTimeout(callback, delayMs);
  if (typeof timer === "object") timer.unref?.();
  return {
    cancel: () => clearTimeout(timer),
    ref: () => {
      if (typeof timer === "object") timer.ref?.();
    },
  };
}
