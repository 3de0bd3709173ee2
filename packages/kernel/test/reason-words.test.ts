import { expect, test } from "vitest";
import { reasonMeantBy } from "@ravi/kernel/provider";

test.each([
  ["stop", "stop"],
  ["END_TURN", "stop"],
  [" eos_token ", "stop"],
  ["tool-calls", "toolCalls"],
  ["Tool Use", "toolCalls"],
  ["MAX_TOKENS", "length"],
  ["cancelled", "length"],
  ["timeout", "length"],
  ["content-filter", "filtered"],
  ["SPII", "filtered"],
  ["content_filter: PROHIBITED_CONTENT", "filtered"],
  ["refusal", "refused"],
])("T10: an ending said as %j is %s", (word, reason) => {
  expect(reasonMeantBy(word)).toBe(reason);
});

test.each(["", "pause", "constructor", "__proto__", "toString"])(
  "T10: %j is no word for an ending",
  (word) => {
    expect(reasonMeantBy(word)).toBeUndefined();
  },
);
