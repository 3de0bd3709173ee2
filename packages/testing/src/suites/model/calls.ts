import { textOf } from "@ravi/kernel";
import { expect } from "vitest";
import { ask, type ModelCase, promptly, waysOf } from "./stage.ts";

export const callCases: readonly ModelCase[] = [
  {
    rule: "T10",
    says: "twenty calls at once do not mix",
    needs: ["seesRequests"],
    async run(stage) {
      const opened = await stage.open((request) =>
        `echo of ${request.messages.map(textOf).join()} `.repeat(10),
      );
      const ways = waysOf(stage);
      const calls = Array.from({ length: 20 }, async (_, n) => {
        const way = ways[n % ways.length];
        if (way === undefined) throw new Error("there is no way to call");
        return textOf((await way.call(opened.client, ask(`call ${n}`))).message);
      });
      const said = await promptly("the calls", Promise.all(calls));
      expect(said).toEqual(said.map((_, n) => `echo of call ${n} `.repeat(10)));
      expect(opened.requests()).toBe(20);
    },
  },
  {
    rule: "T10",
    says: "one call is one request",
    async run(stage) {
      for (const way of waysOf(stage)) {
        const opened = await stage.open(() => "ok");
        await way.call(opened.client, ask("one"));
        expect(opened.requests()).toBe(1);
        await way.call(opened.client, ask("two"));
        expect(opened.requests()).toBe(2);
      }
    },
  },
  {
    rule: "R24",
    says: "the idempotency key reaches the server, in any script",
    needs: ["idempotencyKey"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client, asked } = await stage.open(["ok", "ok", "ok"]);
        await way.call(client, ask("go"), { idempotencyKey: "run-1/llm:model#1" });
        await way.call(client, ask("go"), { idempotencyKey: "run-1/hire:研究者#1/llm:model#1" });
        await way.call(client, ask("go"));
        expect(asked[0]?.idempotencyKey).toBe("run-1/llm:model#1");
        // Headers are ASCII, so the key may be encoded. Only its start, and that it differs from the other key, can be
        // required.
        expect(asked[1]?.idempotencyKey).toMatch(/^run-1/);
        expect(asked[1]?.idempotencyKey).not.toBe(asked[0]?.idempotencyKey);
        expect(asked[2]?.idempotencyKey).toBeUndefined();
      }
    },
  },
];
