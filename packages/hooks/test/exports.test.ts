import * as kernel from "@ravi/kernel";
import { expect, test } from "vitest";
import * as hooks from "../src/index.ts";

test("the package exports these names", () => {
  expect(Object.keys(hooks).toSorted()).toEqual([
    "CostTracker",
    "EventRecorder",
    "HookEvent",
    "HookManager",
    "RunLogger",
  ]);
});

test("R21: HookEvent is the kernel's own, with its eighteen events", () => {
  expect(hooks.HookEvent).toBe(kernel.HookEvent);
  expect(Object.values(hooks.HookEvent)).toHaveLength(18);
});
