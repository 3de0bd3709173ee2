import type { ChatMessage } from "@ravi/kernel";
import { afterEach, expect, it, vi } from "vitest";
import { validPrompt } from "../../src/tree/valid-prompt.ts";
import { problemWith } from "../prompt-check.ts";

afterEach(() => void vi.restoreAllMocks());

/** Groups of a call and what came of it, whose roles can be counted as they are looked at. */
function history(groups: number, idOf: (n: number) => string, isAnswered: (n: number) => boolean) {
  let looks = 0;
  const messages: ChatMessage[] = [{ role: "user", content: "Begin." }];
  for (let n = 0; n < groups; n++) {
    const call = { id: idOf(n), name: "work", arguments: "{}" };
    const message: ChatMessage = { role: "assistant", content: "", toolCalls: [call] };
    Object.defineProperty(message, "role", {
      enumerable: true,
      get() {
        looks++;
        return "assistant";
      },
    });
    messages.push(message);
    messages.push(
      isAnswered(n)
        ? { role: "tool", toolCallId: call.id, name: "work", content: `done ${n}` }
        : { role: "user", content: `Go on, ${n}.` },
    );
  }
  return { messages, looks: () => looks };
}

it("O19: one call without a result does not make every later turn of a long session look at all of it for each call", () => {
  const { messages, looks } = history(
    2_000,
    (n) => `call_${n}`,
    (n) => n > 0,
  );
  expect(problemWith(validPrompt(messages))).toBeUndefined();
  expect(looks()).toBeLessThan(2_000 * 20);
});

it("O19: ids that come again in each turn are numbered without trying all numbers each time", () => {
  const { messages } = history(
    2_000,
    () => "call_0",
    () => true,
  );
  const has = vi.spyOn(Set.prototype, "has");
  const prompt = validPrompt(messages);
  expect(has.mock.calls.length).toBeLessThan(2_000 * 10);
  vi.restoreAllMocks();
  expect(problemWith(prompt)).toBeUndefined();
});
