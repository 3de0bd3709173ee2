import { expect, test } from "vitest";
import * as sdk from "@ravi/sdk";

test("the public surface is this list", () => {
  expect(Object.keys(sdk).toSorted()).toEqual([
    "DEFAULT_LIMITS",
    "HookEvent",
    "HookManager",
    "Priority",
    "agent",
    "cancel",
    "deliver",
    "estimate",
    "getRunScope",
    "isRaviError",
    "model",
    "resume",
    "run",
    "runs",
    "start",
    "startResume",
    "team",
    "textOf",
    "tool",
  ]);
});
