import type { ModelResponse } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { copyResponse } from "../../src/context/copy-response.ts";

const call = { id: "a", name: "look_up", arguments: "{}" };
const usage = { inputTokens: 1, outputTokens: 2 };
const answer: ModelResponse = {
  message: { role: "assistant", content: "", toolCalls: [call] },
  finishReason: "toolCalls",
  usage,
};

/** Answers with more than the usual fields, or in another order. */
const UNUSUAL: readonly object[] = [
  { ...answer, model: "m", id: "i", cached: true },
  { ...answer, usage: { ...usage, cachedInputTokens: 1 } },
  { ...answer, usage: undefined },
  { finishReason: "stop", message: { content: "Hi.", role: "assistant" } },
  { ...answer, message: { ...answer.message, toolCalls: [{ ...call, opaque: "o" }] } },
  {
    ...answer,
    message: { role: "assistant", content: "", toolCalls: [{ arguments: "{}", name: "n", id: "a" }] },
  },
  { ...answer, message: { role: "assistant", content: "", name: "x" } },
];

describe("the copy of an answer for the record", () => {
  test("is written as the answer is, also with other fields than usual, and shares nothing with it", () => {
    for (const one of [answer, ...UNUSUAL] as readonly ModelResponse[]) {
      const copy = copyResponse(one);
      expect(JSON.stringify(copy)).toBe(JSON.stringify(one));
      expect(copy).not.toBe(one);
      expect(copy?.message).not.toBe(one.message);
      const [own, given] = [copy?.message.toolCalls, one.message.toolCalls];
      expect(own === undefined || (own !== given && own[0] !== given?.[0])).toBe(true);
      expect(copy?.usage === undefined || copy.usage !== one.usage).toBe(true);
    }
  });

  test("is not made of what is more than text and calls, or is written in a way of its own", () => {
    // Its method is not listed among the fields.
    class Own {
      toJSON(): string {
        return "other";
      }
    }
    const refused: readonly object[] = [
      { ...answer, message: { role: "assistant", content: [{ type: "text", text: "Hi." }] } },
      { ...answer, message: { ...answer.message, toolCalls: [undefined] } },
      { ...answer, message: Object.assign(new Own(), answer.message) },
      { ...answer, usage: Object.assign(new Own(), usage) },
      Object.assign(new Own(), answer),
      { ...answer, usage: null },
      { finishReason: "stop" },
    ];
    for (const one of refused) expect(copyResponse(one as ModelResponse)).toBeUndefined();
  });
});
