import { expect, test } from "vitest";
import type { JsonValue } from "../src/index.ts";
import { readApproval } from "../src/loop.ts";

test.each<JsonValue>([
  true,
  "approve",
  "Approved",
  " YES\n",
  { approved: true },
  { approved: true, reason: "fine" },
])("R24: %j is a yes", (answer) => {
  expect(readApproval(answer).approved).toBe(true);
});

test.each<JsonValue>([
  false,
  null,
  0,
  1,
  "",
  "no",
  "sure",
  "yes, but not today",
  "not approved",
  "true",
  [true],
  { approved: "yes" },
  { approved: 1 },
  { yes: true },
])("R24: %j is no", (answer) => {
  expect(readApproval(answer)).toEqual({ approved: false });
});

test("R24: a reason is one only as a text", () => {
  expect(readApproval({ approved: false, reason: "too dear" })).toEqual({
    approved: false,
    reason: "too dear",
  });
  expect(readApproval({ approved: false, reason: 5 })).toEqual({ approved: false });
});
