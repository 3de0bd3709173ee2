import { expect, test, vi } from "vitest";
import { type ModelRequest, textOf } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { agent, run, start, tool } from "@ravi/sdk";
import * as z from "zod";

test("R24: what is said to an agent while it works is heard before it answers", async () => {
  const model = scriptedModel(({ messages }: ModelRequest) => {
    if (!messages.some(({ role }) => role === "tool")) return { toolCalls: [{ name: "look" }] };
    return messages.flatMap((message) => (message.role === "user" ? [textOf(message)] : [])).join(" / ");
  });
  const { promise: looked, resolve } = Promise.withResolvers<void>();
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const look = tool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    idempotent: true,
    async execute() {
      resolve();
      await told;
      return "seen";
    },
  });
  const handle = start(agent({ name: "guide", model, tools: [look] }), "Go left.");
  await looked;
  await handle.send("No, right.");
  tell();
  expect((await handle.result).output).toBe("Go left. / No, right.");
});

test("R24: pictures and files come with what is said to an agent while it works", async () => {
  const picture = { type: "image", url: "data:image/png;base64,AAAA" } as const;
  const model = scriptedModel((_, n) => (n === 0 ? { toolCalls: [{ name: "look" }] } : "A cat."));
  const look = tool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    idempotent: true,
    execute: (): Promise<void> => handle.send("And this?", { attachments: [picture] }),
  });
  const handle = start(agent({ name: "seer", model, tools: [look] }), "Look.");
  expect((await handle.result).output).toBe("A cat.");
  expect(model.calls[1]?.request.messages.at(-1)).toEqual({
    role: "user",
    content: [picture, { type: "text", text: "And this?" }],
  });
});

test("R24: an error of `onEvent` is told to the logger, and without one to the console, once", async () => {
  using warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const onEvent = (): void => {
    throw new TypeError("event.text is not a function");
  };
  const guide = () => agent({ name: "guide", model: scriptedModel(["Here."]) });
  expect((await run(guide(), "Go.", { onEvent, runId: "r" })).output).toBe("Here.");
  const fields = { runId: "r", error: "TypeError: event.text is not a function" };
  expect(warned.mock.calls).toEqual([["onEvent threw an error; the run continues", fields]]);

  const told: string[] = [];
  const silent = (): void => {};
  const logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (message: string) => void told.push(message),
  };
  await run(guide(), "Go.", { onEvent, logger, budget: { usd: null } });
  expect(told).toEqual(["onEvent threw an error; the run continues"]);
  expect(warned).toHaveBeenCalledTimes(1);
});
