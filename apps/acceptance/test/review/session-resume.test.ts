import { defineTool } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { MemorySessionStore, SessionAgent } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, test } from "vitest";
import * as z from "zod";

test("a session whose system prompt holds a secret is resumed with that prompt, and not with what is written of it", async () => {
  const secret = "canary-12345";
  const journal = new MemoryJournal();
  const store = new MemorySessionStore();
  const prompts: unknown[] = [];
  const make = (dies: boolean): SessionAgent => {
    const work = defineTool({
      name: "work",
      description: "Works.",
      input: z.object({}),
      execute: () => "done",
    });
    const model = scriptedModel(
      ({ messages }) => {
        prompts.push(messages[0]?.content);
        const hasWorked = messages.some(({ role }) => role === "tool");
        if (!hasWorked) return { toolCalls: [{ name: "work", arguments: {} }] };
        return dies ? { text: "", fault: { type: "hang" } } : "Finished.";
      },
      { info: { provider: "test", model: "fixed" } },
    );
    const prompt = { identity: `The door opens with ${secret}.`, footer: false };
    return new SessionAgent({ model, store, tools: [work], secrets: [secret], prompt });
  };
  const dying = new Runtime({ journal });
  const run = dying.run(make(true), "Work.", { runId: "r", sessionId: "s" });
  while (prompts.length < 2) await new Promise(setImmediate);
  await dying.close();
  expect((await run.result).status).toBe("suspended");

  const result = await new Runtime({ journal, agents: [make(false)] }).resume("r").result;
  expect(result).toMatchObject({ status: "completed", output: "Finished." });
  expect(new Set(prompts)).toEqual(new Set([`The door opens with ${secret}.`]));
  const log = store.open("s");
  const written = log.heads.find(({ kind }) => kind === "prompt");
  expect(written && log.read(written)).toMatchObject({ text: "The door opens with [secret]." });
});
