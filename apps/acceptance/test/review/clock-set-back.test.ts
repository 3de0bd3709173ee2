import { expect, test } from "vitest";
import { SequentialFlow } from "@ravi/flow";
import { HookManager } from "@ravi/hooks";
import { type AuditEntry, defineTool } from "@ravi/kernel";
import { auditLogger, MiddlewarePipeline, toolAudit, tracing } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime, wallClock } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

test("a clock that is set back gives observers no negative durations: a histogram would refuse them", async () => {
  let now = Date.now();
  const clock = { ...wallClock, now: () => (now -= 1_000) };
  const durations: number[] = [];
  const hooks = new HookManager();
  hooks.onAny((_, payload) => {
    if ("durationMs" in payload) durations.push(payload.durationMs);
  });
  const append = async ({ details }: AuditEntry): Promise<void> => {
    const took = details?.["durationMs"];
    if (typeof took === "number") durations.push(took);
  };
  const log = { isNoop: false, append };
  const telemetry = {
    isNoop: false,
    startSpan: () => ({ setAttribute() {}, recordError() {}, end() {} }),
    metric: (_: string, value: number) => void durations.push(value),
  };
  const look = defineTool({ name: "look", description: "", input: z.object({}), execute: () => "seen" });
  const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, "done"]);
  const step = new ReActAgent({ name: "step", model, tools: [look] });
  const flow = new SequentialFlow({ name: "flow", steps: [step] });
  const pipelines = {
    agent: new MiddlewarePipeline([auditLogger({ log })]),
    chat: new MiddlewarePipeline([tracing({ telemetry })]),
    function: new MiddlewarePipeline([toolAudit({ log })]),
  };
  const { status } = await new Runtime({ clock, hooks, pipelines }).run(flow, "go").result;
  expect(status).toBe("completed");
  // Of a flow, two agents, two model calls and a tool call: by hooks, by the audit log and by telemetry.
  expect(durations).toHaveLength(11);
  expect(Math.min(...durations)).toBe(0);
});
