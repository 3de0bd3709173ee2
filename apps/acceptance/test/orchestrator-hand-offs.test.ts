import { describe, expect, test } from "vitest";
import { type JsonObject, textOf } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { MemoryJournal } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, done, governed, handOver, hands, model } from "../src/leading.ts";

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
