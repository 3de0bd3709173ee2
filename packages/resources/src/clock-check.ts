import { type Clock, InvalidValueError } from "@ravi/kernel";

/** Rejects a clock without `now` at construction; otherwise it would fail in the middle of a paid run. */
export function checkClock<C extends Clock | undefined>(clock: C): C {
  if (clock === undefined || typeof clock?.now === "function") return clock;
  throw new InvalidValueError({ field: "clock", value: clock, expected: "an object with a now() method" });
}
