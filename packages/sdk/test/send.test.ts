import { expect, test } from "vitest";
import { type ModelRequest, textOf } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { agent, start, tool } from "@ravi/sdk";
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
