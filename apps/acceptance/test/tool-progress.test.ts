import { type Agent, defineTool, type RunEvent } from "@ravi/kernel";
import { ReAct, StrategyAgent } from "@ravi/architectures";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { MemorySessionStore, SessionAgent } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const copy = defineTool({
  name: "copy",
  description: "Copies rows.",
  input: z.object({}),
  execute: (_, { progress }) => {
    progress?.("rows", { done: 1, of: 1 });
    return "copied";
  },
});
const loop = () => ({
  model: scriptedModel([{ toolCalls: [{ id: "c1", name: "copy", arguments: {} }] }, "Done."]),
  tools: [copy],
});
const report = { type: "progress", name: "rows", data: { done: 1, of: 1 }, callId: "c1" };

function lead(): Agent {
  const toolCalls = [{ id: "h1", name: "handoff_clerk", arguments: { task: "Copy." } }];
  const clerk = new ReActAgent({ name: "clerk", ...loop() });
  const model = scriptedModel([{ toolCalls }, "Done."]);
  return new OrchestratorAgent({
    name: "lead",
    model,
    subAgents: [{ agent: clerk, description: "Copies." }],
  });
}

test.each<[string, () => Agent, string]>([
  ["a ReActAgent", () => new ReActAgent({ name: "clerk", ...loop() }), "clerk"],
  ["a sub-agent of an orchestrator", lead, "clerk/1"],
  [
    "a strategy that asks for permission",
    () =>
      new StrategyAgent({
        name: "clerk",
        ...loop(),
        architecture: new ReAct(),
        permissions: { isNoop: false, check: () => ({ allow: true }) },
      }),
    "clerk",
  ],
  ["a session", () => new SessionAgent({ ...loop(), store: new MemorySessionStore() }), "session"],
])("J3: the progress of a tool of %s is an event of that agent", async (_, make, agentId) => {
  const heard: RunEvent[] = [];
  const handle = new Runtime().run(make(), "Copy.", { onEvent: (event) => void heard.push(event) });
  expect((await handle.result).output).toBe("Done.");
  const told = heard.filter(({ event }) => event.type === "progress");
  expect(told).toMatchObject([{ agentId, event: report }]);
  const at = (type: string): number =>
    heard.findIndex(
      ({ event }) => event.type === type && (event.type !== "toolCall" || event.call.id === "c1"),
    );
  expect(at("toolCall")).toBeLessThan(at("progress"));
  expect(at("progress")).toBeLessThan(at("toolResult"));
});

test("J3: a session that is invoked without a runtime has it among its own events", async () => {
  const agent = new SessionAgent({ ...loop(), store: new MemorySessionStore() });
  const read = Array.fromAsync(agent.events());
  expect((await agent.invoke("Copy.")).output).toBe("Done.");
  await agent.close();
  expect((await read).filter(({ type }) => type === "progress")).toEqual([report]);
});
