import { InvalidValueError } from "@ravi/kernel";
import type { HookSource } from "../types.ts";

/** Accepts a function or undefined. Anything else would never be called, or fail in the middle of a run. */
export function checkListener(field: string, value: unknown): void {
  if (value === undefined || typeof value === "function") return;
  throw new InvalidValueError({ field, value, expected: "a function" });
}

export function checkSource(hooks: HookSource): void {
  if (typeof hooks?.on === "function" && typeof hooks.onAny === "function") return;
  throw new InvalidValueError({
    field: "hooks",
    value: hooks,
    expected: "a HookManager, or an object with the methods on and onAny",
  });
}
