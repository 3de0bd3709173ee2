import { afterEach, expect, test, vi } from "vitest";
import type { ChatMessage } from "@ravi/kernel";
import { validPrompt } from "@ravi/context";
import { problemsOf } from "./support/oracle.ts";

afterEach(() => void vi.restoreAllMocks());

test("R28: ids that come again in each turn are numbered without trying all numbers each time", () => {
  const messages: ChatMessage[] = [{ role: "user", content: "Begin." }];
  for (let n = 0; n < 2_000; n++) {
    const call = { id: "call_0", name: "work", arguments: "{}" };
    messages.push({ role: "assistant", content: "", toolCalls: [call] });
    messages.push({ role: "tool", toolCallId: call.id, name: "work", content: `done ${n}` });
  }
  const has = vi.spyOn(Set.prototype, "has");
  const prompt = validPrompt(messages);
  expect(has.mock.calls.length).toBeLessThan(2_000 * 10);
  vi.restoreAllMocks();
  expect(problemsOf(prompt)).toEqual([]);
  expect(prompt.at(-1)).toMatchObject({ toolCallId: "call_0_2000", content: "done 1999" });
});
