import { expect, test } from "vitest";
import {
  type ChatMessage,
  type CompactionStrategy,
  type HistoryProvider,
  HistoryRetention,
  type JsonValue,
  textOf,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { agent, ask, cut, done } from "../support/helpers.ts";

const say = (content: string): ChatMessage => ({ role: "user", content });
const notes = scriptedModel(() => "notes");

/** Replaces all but the last message by what a model says, once there are more than four. */
const noting: CompactionStrategy = {
  name: "noting",
  async compact(messages, context) {
    if (messages.length <= 4) return messages;
    const { message } = (await context?.llm?.(notes, ask("Write."))) ?? { message: say("nothing") };
    return [say(textOf(message)), ...messages.slice(-1)];
  },
};

/** With one view for all, as a history of one conversation. */
class Kept implements HistoryProvider {
  messages: ChatMessage[] = ["a", "b", "c", "d", "e"].map(say);
  view: JsonValue | undefined;
  load(_: unknown, upTo = this.messages.length) {
    return { messages: this.messages.slice(0, upTo), head: this.messages.length };
  }
  append(_: unknown, messages: readonly ChatMessage[]): void {
    this.messages.push(...messages);
  }
  clear(): void {}
  storeView(_: unknown, view: JsonValue): void {
    this.view = view;
  }
  loadView(): JsonValue | undefined {
    return this.view;
  }
}

/** Says which messages it sees. */
const reader = agent("reader", async (ctx, inbox) => {
  await ctx.remember(say(inbox.input));
  const shown = (await ctx.window()).map((message) => textOf(message));
  await ctx.remember({ role: "assistant", content: "fine" });
  return done(shown.join(" "));
});
const options = { sessionId: "s", retention: HistoryRetention.PERMANENT };

async function tell(history: HistoryProvider, text: string): Promise<string> {
  return (await new Runtime({ history, compaction: noting }).run(reader, text, options).result).output;
}

test("R28: what a compaction has paid for is what the next run begins with, and what came after it", async () => {
  const history = new Kept();
  expect(await tell(history, "one")).toBe("notes one");
  expect(history.view).toMatchObject({ strategy: "noting", covered: 5, messages: [say("notes")] });
  expect(await tell(history, "two")).toBe("notes one fine two");
  expect(notes.calls).toHaveLength(1);
});

test("R28: a view stored as ranges of the history gives the same messages again", async () => {
  const history = new Kept();
  const ends: CompactionStrategy = {
    name: "ends",
    async compact(messages, context) {
      if (messages.length <= 5) return messages;
      await context?.llm?.(notes, ask("Write."));
      return [...messages.slice(0, 2), say("left out"), ...messages.slice(-2)];
    },
  };
  const said = async (text: string): Promise<string> =>
    (await new Runtime({ history, compaction: ends }).run(reader, text, options).result).output;
  expect(await said("one")).toBe("a b left out e one");
  expect(history.view).toMatchObject({ messages: [[0, 2], say("left out"), [4, 5]] });
  history.messages.length = 5;
  expect(await said("two")).toBe("a b left out e two");
});

test.each<[string, (view: JsonValue) => JsonValue]>([
  ["nothing", () => null],
  ["a list", () => []],
  ["a text", () => "notes"],
  ["one of another strategy", (view) => ({ ...Object(view), strategy: "other" })],
  ["one of more messages than there are", (view) => ({ ...Object(view), covered: 50 })],
  ["one of other messages", (view) => ({ ...Object(view), digest: "other" })],
  ["one of what is no message", (view) => ({ ...Object(view), messages: [null, 7] })],
  ["one without messages", (view) => ({ ...Object(view), messages: 7 })],
])("R28: a stored view that cannot be used is not used: %s", async (_, change) => {
  const history = new Kept();
  await tell(history, "one");
  history.view = change(history.view ?? null);
  const { length } = notes.calls;
  expect(await tell(history, "two")).toBe("notes two");
  expect(notes.calls).toHaveLength(length + 1);
});

test("R28: a run whose view cannot be stored completes, and the log has it", async () => {
  const history = new Kept();
  history.storeView = () => {
    throw new Error("full");
  };
  const warned: unknown[] = [];
  const quiet = (): void => {};
  const logger = {
    debug: quiet,
    info: quiet,
    error: quiet,
    warn: (message: string, fields?: unknown) => void warned.push([message, fields]),
  };
  const runtime = new Runtime({ history, compaction: noting, logger });
  expect((await runtime.run(reader, "one", options).result).output).toBe("notes one");
  expect(warned).toEqual([
    ["what noting has made could not be kept", expect.objectContaining({ error: "full" })],
  ]);
});

test("R28: a resumed run begins with the view that it began with, and without one if it had none", async () => {
  const history = new Kept();
  for (const expected of ["notes one", "notes one fine two"]) {
    const journal = new MemoryJournal();
    const text = expected.split(" ").at(-1) ?? "";
    const runtime = new Runtime({ journal, history, compaction: noting });
    const { output, runId } = await runtime.run(reader, text, options).result;
    expect(output).toBe(expected);
    // Killed before its end was on record, and others have made another view since.
    const records = journal.load(runId).filter(({ key }) => key !== "run:status");
    const kept = history.view;
    history.view = { ...Object(kept), messages: [say("other notes")] };
    const { length } = notes.calls;
    const again = new Runtime({
      journal: cut(runId, records),
      history,
      compaction: noting,
      agents: [reader],
    });
    expect((await again.resume(runId).result).output).toBe(expected);
    expect(notes.calls).toHaveLength(length);
    history.view = kept;
  }
});

test("R28: a run that stores nothing reads no view and leaves none", async () => {
  const history = new Kept();
  await tell(history, "one");
  const kept = history.view;
  const runtime = new Runtime({ history, compaction: noting });
  const retention = HistoryRetention.RUN;
  await runtime.run(reader, "two", { sessionId: "s", retention }).result;
  expect(history.view).toBe(kept);
});
