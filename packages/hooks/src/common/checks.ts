import { InvalidValueError } from "@ravi/kernel";
import type { HookSource } from "../types.ts";

export function checkSource(hooks: HookSource): void {
  if (typeof hooks?.on === "function" && typeof hooks.onAny === "function") return;
  throw new InvalidValueError({
    field: "hooks",
    value: hooks,
    expected: "a HookManager, or an object with the methods on and onAny",
  });
}
