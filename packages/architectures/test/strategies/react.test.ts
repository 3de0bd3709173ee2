import { expect, test } from "vitest";
import { defineTool } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { freshSession, ReAct, StrategyAgent } from "@ravi/architectures";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, asked, EACH, run, says } from "../support.ts";

const ADD = { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }], usage: EACH };

test("J10: ReAct calls tools until it answers, with the events of the loop in their order", async () => {
  const { result, session, model, events } = await run(new ReAct(), [ADD, says("3")], { tools: [add] });
  expect(result).toEqual({ status: "completed", output: "3", stopReason: "done" });
  expect(model.calls).toHaveLength(2);
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["step", "toolCall", "toolResult", "text"]),
  );
  expect(session).toMatchObject({ turns: 2, output: "3", interrupted: false });
  expect(session.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  expect(session.cumulativeUsage).toEqual({ inputTokens: 20, outputTokens: 2 });
});

test("J10: at maxTurns there is one more call without tools, and the result is partial", async () => {
  const { result, model } = await run(new ReAct(), [ADD, ADD, "about 3"], { tools: [add], maxTurns: 2 });
  expect(result).toEqual({ status: "partial", output: "about 3", stopReason: "steps" });
  expect(model.calls).toHaveLength(3);
  expect(model.calls[2]?.request.tools).toBeUndefined();
});

test("J9: run again on the same session, the prompt is appended and nothing is seeded anew", async () => {
  const session = freshSession({ id: "s", instructions: "Be short." });
  await run(new ReAct(), ["Oslo."], { session, prompt: "Capital of Norway?" });
  const { model } = await run(new ReAct(), ["Bern."], { session, prompt: "And of Switzerland?" });
  expect(model.calls[0]?.request.messages).toEqual([
    { role: "system", content: "Be short." },
    { role: "user", content: "Capital of Norway?" },
    { role: "assistant", content: "Oslo." },
    { role: "user", content: "And of Switzerland?" },
  ]);
  expect(session.messages.filter(({ role }) => role === "system")).toHaveLength(1);
  expect(session.turns).toBe(2);
});

test("somebody who writes to it while it works is heard before the next call", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "wait" }] }, "done"]);
  const ctx = bareContext();
  const inbox = ctx.inbox("go");
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: z.object({}),
    execute: () => void inbox.send("user", "be quick"),
  });
  const agent = new StrategyAgent({ name: "thinker", model, tools: [wait], architecture: new ReAct() });
  await agent.run(ctx, inbox);
  expect(asked(model.calls[1]?.request)).toBe("be quick");
});
