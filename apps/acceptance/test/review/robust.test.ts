import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type Agent, defineTool, type HookPayloads, type JsonObject, textOf } from "@ravi/kernel";
import { InformationAgent, ParallelFlow, SequentialFlow } from "@ravi/flow";
import { HookEvent, HookManager } from "@ravi/hooks";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal } from "@ravi/runtime";
import { RetryPolicy } from "@ravi/supervision";
import { virtualClock } from "@ravi/testing";
import { agent, done, governed, handOver, hands, model } from "../../src/leading.ts";

const echo = agent("helper", async (_, { input }) => done(`did ${input}`));

describe("R16: what models really ask for", () => {
  const call = (name: string, args: JsonObject) => ({ name, arguments: args });

  test.each<[string, ReturnType<typeof call>, RegExp]>([
    ["somebody whom nobody knows", call("handoff_nobody", { task: "x" }), /unknown tool.*handoff_helper/],
    ["nothing to do", call("handoff_helper", { task: "  " }), /says what to do/],
    ["no task", call("handoff_helper", {}), /says what to do/],
    ["a task that is no text", call("handoff_helper", { task: { a: 1 } }), /says what to do/],
    ["more than a task", call("handoff_helper", { task: "x", priority: 8 }), /unknown field/],
    ["a name in other letters", call("Handoff_Helper", { task: "x" }), /unknown tool/],
  ])("%s: it is told what is wrong, and goes on", async (_, wrong, text) => {
    const { told, result } = await handOver(
      { text: "both", toolCalls: [wrong, call("handoff_helper", { task: "right" })] },
      [{ agent: echo }],
    );
    expect(told).toEqual([
      { text: expect.stringMatching(text), isError: true },
      { text: "did right", isError: false },
    ]);
    expect(result.status).toBe("completed");
  });

  test("two hundred hand-offs in a turn with fifty seats: each has its answer", async () => {
    const many = Array.from({ length: 200 }, (_, n) => ["helper", `${n}`] as const);
    const { told, result } = await handOver(hands(...many), [{ agent: echo, onFull: "queue" }]);
    expect(told).toHaveLength(200);
    expect(told.every(({ isError }) => !isError)).toBe(true);
    expect(result.agents).toHaveLength(201);
  });

  test.each([
    ["thirty at once, of whom two find a seat", 1, 30, 3],
    ["thirty turns, one hand-off each", 30, 1, 3],
    ["five turns of ten, at a cap of three", 5, 10, 3],
  ])("many hand-offs to one helper are no loop: %s", async (_, turns, each, maxAgents) => {
    let turn = 0;
    const asked = model(() => {
      if (++turn > turns) return "all handed over";
      return hands(...Array.from({ length: each }, (__, n) => ["helper", `${turn}.${n}`] as const));
    });
    const lead = new OrchestratorAgent({ name: "lead", model: asked, subAgents: [{ agent: echo }] });
    const result = await governed().run(lead, "go", { spawnBudget: { maxAgents } }).result;
    expect(result).toMatchObject({ status: "completed", output: "all handed over" });
  });

  test("a task of nearly a megabyte is handed over whole", async () => {
    const size = agent("helper", async (_, { input }) => done(String(input.length)));
    const { told } = await handOver(
      hands(["helper", "x".repeat(900_000)]),
      [{ agent: size }],
      {},
      {},
      governed({ journal: new MemoryJournal() }),
    );
    expect(told).toEqual([{ text: "900000", isError: false }]);
  });

  test("cut off by its length in the middle of hand-offs, nobody is hired", async () => {
    let ran = 0;
    const counted = agent("helper", async () => {
      ran++;
      return done("x");
    });
    const { result } = await handOver(
      { toolCalls: [{ name: "handoff_helper", arguments: { task: "half" } }], finishReason: "length" },
      [{ agent: counted }],
    );
    expect(ran).toBe(0);
    expect(result.status).toBe("completed");
  });

  test("the answer of one who was late is cut like any other result", async () => {
    const clock = virtualClock({ now: 0 });
    const slow = agent("slow", async (ctx) => {
      await ctx.sleepUntil(90_000);
      return done("y".repeat(500_000));
    });
    const asked = model(({ messages }) => {
      const last = messages.at(-1);
      if (messages.length === 1) return hands(["slow", "x"]);
      return last === undefined ? "" : `fine, ${textOf(last).length}`;
    });
    const lead = new OrchestratorAgent({
      name: "lead",
      model: asked,
      subAgents: [{ agent: slow, askTimeoutS: 10, onTimeout: "leave" }],
      maxToolResultChars: 2_000,
    });
    const running = governed({ clock }).run(lead, "go").result;
    await clock.advance(100_000);
    const { output } = await running;
    expect(Number(output.split(", ")[1])).toBeLessThan(3_000);
  });

  test("a helper that found no seat does not count as one that was hired", async () => {
    const helper = (name: string) => ({
      name: "hire_helper",
      arguments: { name, instructions: "dig", task: "deep" },
    });
    const asked = model(({ messages, tools }) => {
      if (tools === undefined) return "dug";
      const told = messages.filter(({ role }) => role === "tool");
      if (told.length === 0) return { toolCalls: [helper("a"), helper("b")] };
      return told.length === 2 ? { toolCalls: [helper("c")] } : (told.map((one) => textOf(one)).at(-1) ?? "");
    });
    const lead = new OrchestratorAgent({ name: "lead", model: asked, dynamicHiring: { maxHelpers: 2 } });
    const result = await governed().run(lead, "go", { spawnBudget: { maxAgents: 2 } }).result;
    expect(result.output).toBe("dug");
  });
});

describe("what others hang on a run does not change it", () => {
  test("listeners that throw, never settle, or try to change what they are given", async () => {
    const hooks = new HookManager();
    for (const event of Object.values(HookEvent)) {
      hooks.on(event, () => {
        throw new Error("listener");
      });
      hooks.on(event, () => Promise.reject(new Error("listener, later")));
      hooks.on(event, (payload) => {
        Object.assign(payload as object, { agentId: "hijacked", task: "other" });
      });
    }
    const logger = {
      debug: () => {
        throw new Error("logger");
      },
      info: () => {
        throw new Error("logger");
      },
      warn: () => {
        throw new Error("logger");
      },
      error: () => {
        throw new Error("logger");
      },
    };
    const { told, result } = await handOver(
      hands(["helper", "x"]),
      [{ agent: echo }],
      {},
      {},
      governed({ hooks, logger }),
    );
    expect(told).toEqual([{ text: "did x", isError: false }]);
    expect(result.status).toBe("completed");
  });

  test("tools that throw what is no error", async () => {
    for (const thrown of [
      undefined,
      null,
      0,
      "text",
      { code: "CANCELLED" },
      Object.create(null),
      Symbol("s"),
    ]) {
      const odd = defineTool({
        name: "odd",
        description: "",
        input: z.object({}),
        execute: () => {
          throw thrown;
        },
      });
      const child = new ReActAgent({
        name: "child",
        model: model([{ toolCalls: [{ name: "odd" }] }, "went on"]),
        tools: [odd],
      });
      const { told } = await handOver(
        hands(["child", "x"]),
        [{ agent: child }],
        {},
        {},
        governed({ journal: new MemoryJournal() }),
      );
      expect(told).toEqual([{ text: "went on", isError: false }]);
    }
  });

  test("agents that throw what is no error", async () => {
    for (const thrown of [undefined, null, 0, "text", Object.create(null), Symbol("s")]) {
      const child = agent("child", async () => {
        throw thrown;
      });
      const { told } = await handOver(
        hands(["child", "x"]),
        [{ agent: child }],
        { retryPolicy: new RetryPolicy({ maxRetries: 1, baseMs: 0 }) },
        {},
        governed({ journal: new MemoryJournal() }),
      );
      expect(told).toEqual([
        { text: expect.stringMatching(/^error: child did not succeed, even after 1 restart/), isError: true },
      ]);
    }
  });
});

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
