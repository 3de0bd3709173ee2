import { describe, expect, test } from "vitest";
import { HookEvent, ProviderError } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { add, asks, listening, run } from "./support.ts";

describe("R21: the loop tells its steps", () => {
  test("each STEP_START has its STEP_END, with who, where and when", async () => {
    const { hooks, heard } = listening();
    const clock = virtualClock({ now: 1_000 });
    const model = scriptedModel([asks("add", { a: 1, b: 1 }), "2"]);
    const { ctx } = await run(new ReActAgent({ name: "a", model, tools: [add], clock }), "go", { hooks });
    const base = {
      agentName: "agent",
      agentId: "agent",
      runId: ctx.meta.runId,
      execId: ctx.execId,
      sessionId: ctx.supervision.sessionId,
      at: 1_000,
    };
    expect(heard).toEqual([
      [HookEvent.STEP_START, { ...base, step: 1 }],
      [HookEvent.STEP_END, { ...base, step: 1 }],
      [HookEvent.STEP_START, { ...base, step: 2 }],
      [HookEvent.STEP_END, { ...base, step: 2 }],
    ]);
  });

  test("also a step that fails has its end", async () => {
    const { hooks, heard } = listening();
    const model = scriptedModel([new ProviderError({ kind: "SERVER_ERROR", message: "down" })]);
    await expect(run(new ReActAgent({ name: "a", model }), "go", { hooks })).rejects.toThrow("down");
    expect(heard.map(([event]) => event)).toEqual([HookEvent.STEP_START, HookEvent.STEP_END]);
  });

  test("a payload is only built where somebody listens", async () => {
    const hooks = {
      has: () => false,
      dispatch: () => expect.unreachable("nobody listens"),
      drain: () => {},
    };
    const { result } = await run(new ReActAgent({ name: "a", model: scriptedModel(["x"]) }), "go", { hooks });
    expect(result.status).toBe("completed");
  });
});

test("events come in order: steps, deltas as they come, calls, results", async () => {
  const model = scriptedModel(
    [
      { reasoning: "Adding.", toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] },
      { text: "It is three." },
    ],
    { chunkSize: 6 },
  );
  const { events } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
  const told = events.map((event) =>
    event.type === "text" || event.type === "reasoning" || event.type === "toolArguments"
      ? `${event.type} ${event.delta}`
      : event.type,
  );
  expect(told.filter((line) => !line.startsWith("toolArguments"))).toEqual([
    "step",
    "reasoning Adding",
    "reasoning .",
    "toolCall",
    "toolResult",
    "step",
    "text It is ",
    "text three.",
  ]);
  expect(told.filter((line) => line.startsWith("toolArguments")).length).toBeGreaterThan(1);
  expect(events).toContainEqual({
    type: "toolCall",
    call: { id: "call_0", name: "add", arguments: '{"a":1,"b":2}' },
  });
  expect(events).toContainEqual({
    type: "toolResult",
    callId: "call_0",
    name: "add",
    content: "3",
    isError: false,
  });
});
