import { HookEvent, HookManager } from "@ravi/hooks";
import {
  type Agent,
  type AuditEntry,
  defineTool,
  type HookPayloads,
  MiddlewareTermination,
} from "@ravi/kernel";
import { auditLogger, contentFilter, MiddlewarePipeline, toolAudit, tracing } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal, Runtime, wallClock } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, it, test } from "vitest";
import * as z from "zod";
import { InformationAgent, ParallelFlow, SequentialFlow } from "@ravi/flow";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { agent, done, governed, hands, model } from "../src/leading.ts";

describe("R21: whoever listens hears once of a guard that stops a run", () => {
  const stop = async (): Promise<never> => {
    throw new MiddlewareTermination({ layer: "mine", reason: "no" });
  };
  const layers = {
    agent: { agent: new MiddlewarePipeline([stop], { level: "agent" }) },
    chat: { chat: new MiddlewarePipeline([stop], { level: "chat" }) },
    function: { function: new MiddlewarePipeline([stop], { level: "function" }) },
  } as const;
  const noop = defineTool({ name: "noop", description: "", input: z.object({}), execute: () => "ok" });

  it.each(["agent", "chat", "function"] as const)(
    "one of the user's own around the %s level",
    async (level) => {
      const trips: object[] = [];
      const hooks = new HookManager();
      hooks.on(HookEvent.GUARDRAIL_TRIP, ({ layer, reason }) => void trips.push({ layer, reason }));
      const calling = scriptedModel([{ toolCalls: [{ name: "noop" }] }, "done"]);
      const worker = new ReActAgent({
        name: "worker",
        model: calling,
        tools: [noop],
        hooks,
        middleware: layers[level],
      });
      const { status, error } = await new Runtime().run(worker, "x").result;
      expect([status, error?.code]).toEqual(["failed", "MIDDLEWARE_TERMINATION"]);
      expect(trips).toEqual([{ layer: "mine", reason: "no" }]);
    },
  );

  it("one of this package", async () => {
    let trips = 0;
    const hooks = new HookManager();
    hooks.on(HookEvent.GUARDRAIL_TRIP, () => void trips++);
    const middleware = { chat: new MiddlewarePipeline([contentFilter({ blocked: ["evil"] })]) };
    const worker = new ReActAgent({ name: "worker", model: scriptedModel(["x"]), hooks, middleware });
    expect((await new Runtime().run(worker, "evil").result).status).toBe("failed");
    expect(trips).toBe(1);
  });
});

const echo = agent("helper", async (_, { input }) => done(`did ${input}`));

describe("R21, R26: what is told of a run", () => {
  test("each execution starts once and ends once, children before their parents", async () => {
    const flow = new SequentialFlow({
      name: "flow",
      steps: [
        new ParallelFlow({
          name: "both",
          branches: [
            echo,
            agent("crash", async () => {
              throw new TypeError("x");
            }),
          ],
        }),
      ],
    });
    const lead = new OrchestratorAgent({
      name: "lead",
      model: model([hands(["flow", "x"], ["helper", "y"]), "fine"]),
      subAgents: [{ agent: flow }, { agent: echo }],
    });
    const hooks = new HookManager();
    const told: string[] = [];
    hooks.on(HookEvent.RUN_START, ({ execId }) => void told.push(`+${execId}`));
    hooks.on(HookEvent.RUN_END, ({ execId }) => void told.push(`-${execId}`));
    const handle = governed({ hooks }).run(lead, "go", { runId: "r" });
    const events: string[] = [];
    let seq = 0;
    for await (const { seq: n, execId, event } of handle.events()) {
      expect(n).toBeGreaterThan(seq);
      seq = n;
      if (event.type === "started") events.push(`+${execId}`);
      if (event.type === "completed" || event.type === "error") events.push(`-${execId}`);
    }
    await handle.result;
    for (const list of [told, events]) {
      expect(new Set(list).size).toBe(list.length);
      const starts = list.filter((one) => one.startsWith("+")).map((one) => one.slice(1));
      expect(starts).toHaveLength(6);
      for (const id of starts) {
        expect(list.indexOf(`-${id}`)).toBeGreaterThan(list.indexOf(`+${id}`));
        const parent = id.slice(0, id.lastIndexOf("/"));
        if (parent !== "") expect(list.indexOf(`-${parent}`)).toBeGreaterThan(list.indexOf(`-${id}`));
      }
    }
  });

  test("a flow that is suspended has not failed: FLOW_END comes when it ends", async () => {
    const journal = new MemoryJournal();
    const make = (): Agent =>
      new SequentialFlow({
        name: "flow",
        steps: [agent("waits", async (ctx) => done(String(await ctx.waitFor("go"))))],
      });
    const ends: HookPayloads["flow_end"][] = [];
    const hooks = new HookManager();
    hooks.on(HookEvent.FLOW_END, (end) => void ends.push(end));
    const first = governed({ journal, hooks });
    const waiting = first.run(make(), "go", { runId: "r" });
    for await (const { event } of waiting.events()) if (event.type === "started") break;
    await first.close();
    expect((await waiting.result).status).toBe("suspended");
    expect(ends).toEqual([]);
    const second = governed({ journal, hooks, agents: [make()] });
    await second.deliver("r", "go", "now");
    expect((await second.resume("r").result).status).toBe("completed");
    expect(ends.map(({ status }) => status)).toEqual(["completed"]);
  });

  test("R26: a run that was suspended and resumed is counted once", async () => {
    const look = defineTool({
      name: "look",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: () => "seen",
    });
    const sign = defineTool({ ...look, name: "sign", needsApproval: true });
    const make = (): Agent => {
      const worker = new ReActAgent({
        name: "worker",
        model: model(({ messages }) => {
          const seen = messages.filter(({ role }) => role === "tool").length;
          return seen === 2 ? "signed" : { toolCalls: [{ name: seen === 0 ? "look" : "sign" }] };
        }),
        tools: [look, sign],
      });
      return new SequentialFlow({ name: "flow", steps: [worker] });
    };
    const journal = new MemoryJournal();
    const info = new InformationAgent();
    const first = governed({ journal });
    const waiting = first.run(make(), "go", { runId: "r" });
    const seen = info.watch(waiting);
    for await (const { event } of waiting.events())
      if (event.type === "toolCall" && event.call.name === "sign") break;
    await first.close();
    await seen;
    const second = governed({ journal, agents: [make()] });
    await second.deliver("r", "approval:r/hire:worker#1:tool:2:0", true);
    const again = second.resume("r");
    const metrics = await info.watch(again);
    const result = await again.result;
    const worker = metrics.agents.find(({ agentId }) => agentId.startsWith("worker"));
    expect(worker).toMatchObject({ calls: 3, toolCalls: 2, status: "completed" });
    expect(metrics.total.costUsd).toBe(result.cost);
  });
});

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
  const looking = scriptedModel([{ toolCalls: [{ name: "look" }] }, "done"]);
  const step = new ReActAgent({ name: "step", model: looking, tools: [look] });
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
