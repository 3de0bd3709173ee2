import type { Clock, TimerHandle } from "@ravi/kernel";

export type SetTimer = (callback: () => void, delayMs: number) => TimerHandle;

/** The clock's timers, or the platform's where it has none: a listener that hangs must be cut off in any case. */
export function timersOf(clock: Clock | undefined): SetTimer {
  if (clock?.setTimer === undefined) return platformTimer;
  return clock.setTimer.bind(clock);
}

/** By itself it does not keep the process alive: a listener that hangs is no reason to go on living. */
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
