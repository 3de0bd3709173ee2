import {
  type Agent,
  AgentId,
  type AgentResult,
  defineTool,
  type Inbox,
  type ModelRequest,
  type RunContext,
  type StandardSchema,
  textOf,
} from "@ravi/kernel";
import { AgentBase, planLoop, toolLoop } from "@ravi/kernel/loop";
import { scriptedModel } from "@ravi/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RestateServer } from "../src/server.ts";
import { house } from "./house.ts";

let server: RestateServer;
beforeAll(async () => void (server = await RestateServer.start()));
afterAll(() => server.stop());

const NOTHING: StandardSchema = {
  "~standard": {
    version: 1,
    vendor: "ravi",
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};

test("R24: an agent on the tool loop reads a message between two turns, and answers it", async () => {
  const sent = Promise.withResolvers<void>();
  const atWork = Promise.withResolvers<void>();
  const look = defineTool({ name: "look", description: "", input: NOTHING, execute: () => "nothing yet" });
  const userTexts = ({ messages }: ModelRequest): string[] =>
    messages.flatMap((message) => (message.role === "user" ? [textOf(message)] : []));
  // Works until it is told something, and then answers with all that it was told.
  const model = scriptedModel(async (request) => {
    atWork.resolve();
    await sent.promise;
    const told = userTexts(request);
    return told.length > 1 ? told.join("; ") : { toolCalls: [{ name: "look", arguments: {} }] };
  });
  const plan = planLoop("looper", {
    name: "looper",
    model,
    tools: [look],
    maxSteps: 500,
    loopDetection: false,
  });
  class Looper extends AgentBase {
    run(ctx: RunContext, inbox: Inbox): Promise<AgentResult> {
      return toolLoop(plan, ctx, inbox);
    }
  }
  const looper = new Looper(plan.id, plan, plan.defaults);
  const runtime = await house(server).create({ agents: [looper] });
  const handle = runtime.run(looper, "begin", { runId: "loop-1" });
  await atWork.promise;
  await runtime.send?.("loop-1", "be brief");
  await runtime.send?.("loop-1", "and kind", { from: "ada" });
  sent.resolve();
  expect((await handle.result).output).toMatch(/^begin; be brief(; \[message from ada\] and kind)?$/);
  await runtime.close();
});

test("R24: messages to an agent whose workers die one after the other are each read once, in order", async () => {
  const model = scriptedModel(() => "ok");
  const busy: Agent = {
    id: AgentId("busy"),
    async run(ctx, inbox) {
      const heard: unknown[] = [];
      while (heard.at(-1) !== "last") {
        await ctx.llm(model, { messages: [{ role: "user", content: "a step" }], maxOutputTokens: 10 });
        while (inbox.hasMail?.() === true) heard.push((await inbox.take())?.content);
      }
      return { status: "completed", output: heard.join(" "), stopReason: "done" };
    },
  };
  const workers = house(server);
  let worker = await workers.create({ agents: [busy] });
  worker.run(busy, "", { runId: "busy-1" });
  const words = [...Array.from({ length: 24 }, (_, n) => `m${n}`), "last"];
  for (const [n, word] of words.entries()) {
    await worker.send?.("busy-1", word);
    if (n % 5 !== 3) continue;
    await workers.crash(worker);
    worker = await workers.create({ agents: [busy] });
    worker.resume("busy-1");
  }
  const result = await worker.resume("busy-1").result;
  expect([result.status, result.output]).toEqual(["completed", words.join(" ")]);
  await worker.close();
});
