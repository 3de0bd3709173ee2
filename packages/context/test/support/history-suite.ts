import { describe, expect, test } from "vitest";
import type { ChatMessage, HistoryProvider } from "@ravi/kernel";
import { HOSTILE_IDS, keyOf } from "./keys.ts";

export const say = (content: string): ChatMessage => ({ role: "user", content });
export const many = (count: number): ChatMessage[] => Array.from({ length: count }, (_, n) => say(`${n}`));

/** JSON writes only the fields that an object has itself. */
class Said {
  readonly #content: string;

  constructor(content: string) {
    this.#content = content;
  }

  get role(): "user" {
    return "user";
  }
  get content(): string {
    return this.#content;
  }
}

/** What every history provider has to do. `open` gives an empty one. */
export function describeHistory(name: string, open: () => Promise<HistoryProvider>): void {
  describe(`${name}, as any history`, () => {
    test("R10: what was never written is empty", async () => {
      expect(await (await open()).load(keyOf("s"))).toEqual({ messages: [], head: 0 });
    });

    test("R10: messages come back in order, with all that is in them", async () => {
      const history = await open();
      const messages: ChatMessage[] = [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [{ type: "text", text: 'a "quoted"\nline\u2028 \ud83d\ude00 \ud800' }],
          name: "ada",
        },
        { role: "assistant", content: "", toolCalls: [{ id: "1", name: "read", arguments: '{"a":' }] },
        { role: "tool", toolCallId: "1", name: "read", content: "", isError: true },
      ];
      await history.append(keyOf("s"), messages.slice(0, 1));
      await history.append(keyOf("s"), messages.slice(1));
      await history.append(keyOf("s"), []);
      expect(await history.load(keyOf("s"))).toEqual({ messages, head: 4 });
    });

    test.each<[string, (good: ChatMessage) => ChatMessage[]]>([
      ["a hole at the end", (good) => Object.assign([good], { length: 2 })],
      ["a hole in the middle", (good) => Object.assign([good], { 2: good })],
      ["a message whose class has its fields as getters", (good) => [good, new Said("hello")]],
      ["a message that JSON turns into a text", (good) => [good, { ...good, toJSON: () => "hello" }]],
      ["a message that JSON turns into nothing", (good) => [good, { ...good, toJSON: () => undefined }]],
    ])(
      "R10: what could not be read again as a message is refused, and what is stored stays readable: %s",
      async (_what, make) => {
        const history = await open();
        await history.append(keyOf("s"), many(1));
        await expect(async () => history.append(keyOf("s"), make(say("good")))).rejects.toMatchObject({
          code: "INVALID_VALUE",
          field: "messages[1]",
        });
        await history.append(keyOf("s"), [say("later")]);
        expect(await history.load(keyOf("s"))).toEqual({ messages: [say("0"), say("later")], head: 2 });
      },
    );

    test("R10: a head is read again as it was, whatever came after it", async () => {
      const history = await open();
      await history.append(keyOf("s"), many(3));
      const { head } = await history.load(keyOf("s"));
      await history.append(keyOf("s"), [say("later")]);
      expect(await history.load(keyOf("s"), head)).toEqual({ messages: many(3), head: 4 });
      expect(await history.load(keyOf("s"), 0)).toEqual({ messages: [], head: 4 });
    });

    test("R10: more than there is was lost, and that is an error", async () => {
      const history = await open();
      await history.append(keyOf("s"), many(3));
      await expect(async () => history.load(keyOf("s"), 5)).rejects.toMatchObject({
        code: "JOURNAL_CORRUPT",
        message: expect.stringContaining("has 3 messages, but the run recorded 5"),
      });
    });

    test("R10: sessions, agents and executions have histories of their own", async () => {
      const history = await open();
      const keys = [keyOf("s"), keyOf("s", "researcher"), keyOf("s", "lead", "run/1"), keyOf("t")];
      for (const [n, key] of keys.entries()) await history.append(key, [say(`${n}`)]);
      for (const [n, key] of keys.entries())
        expect((await history.load(key)).messages).toEqual([say(`${n}`)]);
    });

    test("R7: what is cleared is gone, the rest stays, and it can be begun again", async () => {
      const history = await open();
      await history.append(keyOf("s", "lead", "run/1"), [say("of the run")]);
      await history.append(keyOf("s"), [say("for good")]);
      await history.clear(keyOf("s", "lead", "run/1"));
      await history.clear(keyOf("s", "lead", "run/1"));
      await history.clear(keyOf("never"));
      expect(await history.load(keyOf("s", "lead", "run/1"))).toEqual({ messages: [], head: 0 });
      expect((await history.load(keyOf("s"))).messages).toEqual([say("for good")]);
      await history.append(keyOf("s", "lead", "run/1"), [say("again")]);
      expect((await history.load(keyOf("s", "lead", "run/1"))).head).toBe(1);
    });

    test("R28: the newest view of a conversation is kept until that is cleared, and is no part of it", async () => {
      const history = await open();
      const [key, other] = [keyOf("s"), keyOf("s", "researcher")];
      expect(await history.loadView?.(key)).toBeUndefined();
      await history.append(key, many(3));
      await history.storeView?.(key, { covered: 2 });
      await history.storeView?.(key, { covered: 3, messages: [[0, 1], { role: "user", content: "notes" }] });
      await history.storeView?.(other, null);
      const view = { covered: 3, messages: [[0, 1], { role: "user", content: "notes" }] };
      expect(await history.loadView?.(key)).toEqual(view);
      expect(await history.load(key)).toEqual({ messages: many(3), head: 3 });
      await history.clear(key);
      expect(await history.loadView?.(key)).toBeUndefined();
      expect(await history.loadView?.(other)).toBeNull();
      await history.append(key, many(3));
      expect(await history.loadView?.(key)).toBeUndefined();
    });

    test("R10: appends that are not waited for stay in the order asked", async () => {
      const history = await open();
      const jobs = many(100).map(async (message, n) => history.append(keyOf(`s${n % 3}`), [message]));
      await Promise.all(jobs);
      for (const n of [0, 1, 2]) {
        expect((await history.load(keyOf(`s${n}`))).messages).toEqual(
          many(100).filter((_, at) => at % 3 === n),
        );
      }
    });

    test("R10: what a caller does with its messages, or with what it got, changes nothing", async () => {
      const history = await open();
      const message = { role: "user" as const, content: "kept" };
      const list = [message];
      const job = history.append(keyOf("s"), list);
      message.content = "changed";
      list.length = 0;
      await job;
      const first = await history.load(keyOf("s"));
      await history.append(keyOf("s"), [say("more")]);
      expect(first.messages).toEqual([say("kept")]);
      (first.messages as ChatMessage[]).push(say("sneaked in"));
      expect((await history.load(keyOf("s"))).messages).toEqual([say("kept"), say("more")]);
    });

    test("R10: an append with a bad message writes none of them and names it", async () => {
      const history = await open();
      const cyclic: { role: "user"; content: unknown[] } = { role: "user", content: [] };
      cyclic.content.push(cyclic);
      for (const bad of [undefined, "text", { role: "robot", content: "" }, { role: "user" }, cyclic]) {
        await expect(async () =>
          history.append(keyOf("s"), [say("good"), bad as ChatMessage]),
        ).rejects.toMatchObject({
          code: "INVALID_VALUE",
          field: "messages[1]",
        });
      }
      expect((await history.load(keyOf("s"))).head).toBe(0);
    });

    test.each([keyOf(""), keyOf("s", ""), keyOf("s", "lead", ""), keyOf(7 as never)])(
      "R4: the key %j is refused",
      async (key) => {
        const history = await open();
        await expect(async () => history.append(key, [say("x")])).rejects.toMatchObject({
          code: "INVALID_VALUE",
        });
        await expect(async () => history.load(key)).rejects.toMatchObject({ code: "INVALID_VALUE" });
      },
    );

    test("T12: no two hostile ids share a history, in any part of the key", async () => {
      const history = await open();
      const keys = HOSTILE_IDS.flatMap((id) => [
        keyOf(id),
        keyOf("s", id),
        keyOf("s", "lead", id),
        keyOf(id, id, id),
      ]);
      const unique = [...new Map(keys.map((key) => [JSON.stringify(key), key])).values()];
      for (const key of unique) await history.append(key, [say(JSON.stringify(key))]);
      for (const key of unique)
        expect((await history.load(key)).messages).toEqual([say(JSON.stringify(key))]);
    });
  });
}
