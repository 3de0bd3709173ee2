import { InvalidValueError, type JsonValue, type TimerHandle } from "@ravi/kernel";
import type { Answer } from "../tree/signals.ts";
import type { Execution } from "./execution.ts";

/** Waits for what somebody delivers under that name. It is recorded when it is read, so a replay reads the same. */
export async function waitFor(exec: Execution, key: string, name: string): Promise<JsonValue> {
  return valueOf(await exec.engine.fact(key, () => nextSignal(exec, name)));
}

/** What was delivered, without the id that it is on record with. */
export function valueOf(answer: JsonValue): JsonValue {
  return (answer as Answer).value;
}

export async function nextSignal(exec: Execution, name: string): Promise<Answer> {
  const { value, leave } = exec.tree.signals.next(name);
  try {
    return await orStopped(exec, value);
  } finally {
    leave();
  }
}

/** Sleeps to a time of day, so that a restart in between makes it no longer. */
export async function sleepUntil(exec: Execution, key: string, time: number): Promise<void> {
  if (!Number.isFinite(time)) {
    throw new InvalidValueError({ field: "sleepUntil", value: time, expected: "epoch milliseconds" });
  }
  const { clock } = exec.tree.ports;
  const until = Number(await exec.engine.fact(key, () => time));
  // What is on record behind it says that it was slept, whatever the clock says now.
  if (exec.engine.isCatchingUp) return;
  const left = until - clock.now();
  if (left > 0) await orStopped(exec, delay(exec, left));
}

/** A promise, or the end of the run if that comes first. Nothing is left behind either way. */
export async function orStopped<T>(exec: Execution, promise: Promise<T> | Delay<T>): Promise<T> {
  const work = promise instanceof Promise ? { promise, cancel: () => {} } : promise;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const unlisten = exec.token.onCancel(reject);
  const suspended = exec.tree.onSuspend(reject);
  try {
    return await Promise.race([work.promise, stopped]);
  } finally {
    unlisten();
    suspended();
    work.cancel();
  }
}

export interface Delay<T> {
  readonly promise: Promise<T>;
  cancel(): void;
}

export function delay(exec: Execution, milliseconds: number): Delay<void> {
  const { clock } = exec.tree.ports;
  if (clock.setTimer === undefined) {
    throw new InvalidValueError({
      field: "clock.setTimer",
      value: undefined,
      expected: "a clock with timers, to wait for a time",
    });
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer: TimerHandle = clock.setTimer(resolve, milliseconds);
  return { promise, cancel: () => timer.cancel() };
}
