import type { ChatMessage } from "@ravi/kernel";
import type { CompactionItem, EntryHead, SessionEntry } from "@ravi/session";
import { afterEach, expect, it, vi } from "vitest";
import { expand } from "../src/tree/expand.ts";
import { validPrompt } from "../src/tree/valid-prompt.ts";
import { problemWith } from "./prompt-check.ts";

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

it("O19: a compaction of many stretches is read again without a search through the whole way for each", async () => {
  let looks = 0;
  const said = (id: string): ChatMessage => ({ role: "user", content: id });
  const headOf = (id: string, kind: EntryHead["kind"]): EntryHead => ({
    get id() {
      looks++;
      return id;
    },
    kind,
    parent: null,
    at: 0,
    place: 0,
    size: 1,
  });
  const ids = Array.from({ length: 2_000 }, (_, at) => `m${at}`);
  const items = ids.map((id, at): CompactionItem =>
    at % 2 === 0 ? { from: id, to: id } : { message: said(`instead of ${id}`) },
  );
  const base = { parent: null, at: 0 };
  const read = ({ id, kind }: EntryHead): SessionEntry =>
    kind === "compaction"
      ? { ...base, id, kind, strategy: "s", items, before: 2, after: 1 }
      : { ...base, id, kind: "message", message: said(id) };
  const path = [...ids.map((id) => headOf(id, "message")), headOf("c", "compaction")];
  const window = (await expand(path, read)).map(({ message }) => message.content);
  expect(window).toEqual(ids.map((id, at) => (at % 2 === 0 ? id : `instead of ${id}`)));
  expect(looks).toBeLessThan(2_000 * 10);
});
