import { expect, test } from "vitest";
import {
  type ChatMessage,
  type CompactionStrategy,
  HookEvent,
  type HookPayloads,
  type Hooks,
} from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { agent, done } from "./support/helpers.ts";

const TALK: readonly ChatMessage[] = [
  { role: "user", content: "Read both." },
  { role: "assistant", content: "", toolCalls: [{ id: "call_0", name: "read", arguments: '{"page":1}' }] },
  { role: "tool", toolCallId: "call_0", name: "read", content: "a long page" },
];

/** The COMPACTION hooks of a run whose window is compacted once, by `change`. */
async function reported(change: (messages: readonly ChatMessage[]) => readonly ChatMessage[]) {
  const told: HookPayloads["compaction"][] = [];
  const hooks: Hooks = {
    has: (event) => event === HookEvent.COMPACTION,
    dispatch: (_, payload) => void told.push(payload as HookPayloads["compaction"]),
  };
  const compaction: CompactionStrategy = { name: "mine", compact: change };
  const reader = agent("reader", async (ctx) => {
    for (const message of TALK) await ctx.remember(message);
    await ctx.window({});
    return done("read");
  });
  await using runtime = new Runtime({ compaction, hooks });
  expect((await runtime.run(reader, "go").result).status).toBe("completed");
  return told.map(({ strategy, before, after }) => ({ strategy, before, after }));
}

test("a strategy that leaves something out, or shortens it, is reported with the numbers of messages", async () => {
  expect(await reported((messages) => messages.slice(0, 1))).toEqual([
    { strategy: "mine", before: 3, after: 1 },
  ]);
  const shorten = (message: ChatMessage): ChatMessage =>
    message.role === "tool" ? { ...message, content: "a …" } : message;
  expect(await reported((messages) => messages.map(shorten))).toEqual([
    { strategy: "mine", before: 3, after: 3 },
  ]);
});

test("a strategy that only makes the ids of tool calls unique is not reported as a compaction", async () => {
  const rename = (message: ChatMessage): ChatMessage => {
    if (message.role === "tool") return { ...message, toolCallId: "call_0_2" };
    if (message.role !== "assistant" || message.toolCalls === undefined) return message;
    return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, id: "call_0_2" })) };
  };
  expect(await reported((messages) => messages.map(rename))).toEqual([]);
});

test("messages that one window was read for are not counted for the next", async () => {
  const seen: unknown[] = [];
  const compaction: CompactionStrategy = {
    compact(messages, context) {
      seen.push(context?.alsoSent);
      return messages;
    },
  };
  const reader = agent("reader", async (ctx) => {
    await ctx.window({ alsoSent: TALK });
    await ctx.window({});
    return done("read");
  });
  await using runtime = new Runtime({ compaction });
  expect((await runtime.run(reader, "go").result).status).toBe("completed");
  expect(seen).toEqual([TALK, undefined]);
});
