import { describe, expect, test } from "vitest";
import {
  type AgentContext,
  AgentId,
  CancellationError,
  defineTool,
  isRaviError,
  type LLMClient,
  ProviderError,
  textOf,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, asks, run } from "./support.ts";

describe("R19: prompt window → llm → tools or finish", () => {
  test("an answer without calls is the result", async () => {
    const model = scriptedModel(["Hello."]);
    const { result } = await run(new ReActAgent({ name: "a", model, instructions: "Be brief." }), "Hi");
    expect(result).toEqual({ status: "completed", output: "Hello.", stopReason: "done" });
    expect(model.calls.map(({ request }) => request)).toEqual([
      {
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "Hi" },
        ],
      },
    ]);
  });

  test("tools run, and the model sees their results in the order asked", async () => {
    const slow = defineTool({
      name: "slow",
      description: "",
      input: z.object({}),
      execute: () => new Promise<string>((resolve) => setImmediate(resolve, "late")),
    });
    const model = scriptedModel([
      {
        text: "Let me see.",
        toolCalls: [
          { name: "slow", id: "1" },
          { name: "add", arguments: { a: 1, b: 2 }, id: "2" },
        ],
      },
      "3, late",
    ]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [slow, add] }));
    expect(result.output).toBe("3, late");
    expect(model.calls[1]?.request.messages.slice(-2)).toEqual([
      { role: "tool", toolCallId: "1", name: "slow", content: "late" },
      { role: "tool", toolCallId: "2", name: "add", content: "3" },
    ]);
    expect(model.calls[0]?.request.tools?.map(({ name }) => name)).toEqual(["slow", "add"]);
  });

  test("some servers say stop although there are calls; they are made", async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: "add", arguments: { a: 1, b: 1 } }], finishReason: "stop" },
      "2",
    ]);
    expect((await run(new ReActAgent({ name: "a", model, tools: [add] }))).result.output).toBe("2");
  });

  test("128 parallel calls each get their own result", async () => {
    const toolCalls = Array.from({ length: 128 }, (_, n) => ({
      name: "add",
      arguments: { a: n, b: n },
      id: `c${n}`,
    }));
    const model = scriptedModel([{ toolCalls }, "done"]);
    await run(new ReActAgent({ name: "a", model, tools: [add] }));
    const results = model.calls[1]?.request.messages.slice(2);
    expect(results).toEqual(
      toolCalls.map(({ id }, n) => ({ role: "tool", toolCallId: id, name: "add", content: String(2 * n) })),
    );
  });

  test("toolConcurrency bounds what runs at once", async () => {
    let running = 0;
    let most = 0;
    const busy = defineTool({
      name: "busy",
      description: "",
      input: z.object({}),
      async execute() {
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
      },
    });
    const toolCalls = Array.from({ length: 20 }, (_, n) => ({ name: "busy", id: `c${n}` }));
    for (const [toolConcurrency, expected] of [
      [3, 3],
      [undefined, 20],
    ] as const) {
      most = 0;
      const model = scriptedModel([{ toolCalls }, "done"]);
      await run(new ReActAgent({ name: "a", model, tools: [busy], toolConcurrency }));
      expect(most).toBe(expected);
    }
  });

  test("one definition serves many runs at once", async () => {
    const model = scriptedModel((request) =>
      request.messages.some(({ role }) => role === "tool")
        ? request.messages.flatMap((said) => (said.role === "assistant" ? [] : [textOf(said)])).join(" ")
        : asks("add", { a: 20, b: 1 }),
    );
    const agent = new ReActAgent({ name: "a", model, tools: [add] });
    const outputs = await Promise.all(
      ["x", "y", "z"].map(async (input) => (await run(agent, input)).result.output),
    );
    expect(outputs).toEqual(["x 21", "y 21", "z 21"]);
  });

  test("another LLMClient is one other line", async () => {
    const mine: LLMClient = {
      id: "mine",
      info: { provider: "mine", model: "m" },
      generate: async () => ({ message: { role: "assistant", content: "mine" }, finishReason: "stop" }),
    };
    const outputs: string[] = [];
    for (const model of [scriptedModel(["scripted"]), mine]) {
      outputs.push((await run(new ReActAgent({ name: "a", model, tools: [add] }))).result.output);
    }
    expect(outputs).toEqual(["scripted", "mine"]);
  });

  test("what a provider cannot do fails the run with its own error", async () => {
    const error = new ProviderError({ kind: "AUTH", message: "bad key", status: 401 });
    const agent = new ReActAgent({ name: "a", model: scriptedModel([error]) });
    await expect(run(agent)).rejects.toBe(error);
  });
});

describe("instructions, settings and context", () => {
  test("instructions can be made for the run, once", async () => {
    const model = scriptedModel([asks("add", { a: 1, b: 1 }), "2"]);
    let made = 0;
    const agent = new ReActAgent({
      name: "a",
      model,
      tools: [add],
      instructions: async (ctx, input) => `${++made}: ${ctx.scope.userId} asks ${input}`,
    });
    await run(agent, "1 + 1?", { userId: "ada" });
    expect(model.calls.map(({ request }) => request.messages[0]?.content)).toEqual([
      "1: ada asks 1 + 1?",
      "1: ada asks 1 + 1?",
    ]);
  });

  test("instructions that are no text are refused before anything is paid", async () => {
    const model = scriptedModel([]);
    const nothing = (): string => JSON.parse("7") as string;
    await expect(run(new ReActAgent({ name: "a", model, instructions: nothing }))).rejects.toThrow(
      /instructions\(ctx, input\) is 7; expected a string/,
    );
    expect(model.calls).toEqual([]);
  });

  test("settings go with every request", async () => {
    const model = scriptedModel(["x"]);
    await run(new ReActAgent({ name: "a", model, settings: { temperature: 0, maxOutputTokens: 99 } }));
    expect(model.calls[0]?.request).toMatchObject({ temperature: 0, maxOutputTokens: 99 });
  });

  test("R10: a context of the user's own comes before the run's messages", async () => {
    const model = scriptedModel([asks("add", { a: 1, b: 1 }), "2"]);
    const asked: string[] = [];
    const context: AgentContext = {
      agentId: AgentId("a"),
      getPromptWindow(sessionId) {
        asked.push(sessionId);
        return [
          { role: "user", content: "earlier" },
          { role: "assistant", content: "indeed" },
        ];
      },
    };
    const { ctx } = await run(
      new ReActAgent({ name: "a", model, tools: [add], instructions: "S", context }),
      "now",
    );
    expect(asked).toEqual([ctx.supervision.sessionId]);
    expect(
      model.calls[1]?.request.messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`),
    ).toEqual([
      'system: "S"',
      'user: "earlier"',
      'assistant: "indeed"',
      'user: "now"',
      'assistant: ""',
      'tool: "2"',
    ]);
  });
});

describe("T4: cancellation", () => {
  test("while the model is silent", async () => {
    const ctx = bareContext();
    const model = scriptedModel([{ fault: { type: "hang" } }]);
    const running = new ReActAgent({ name: "a", model }).run(ctx, ctx.inbox("go"));
    await new Promise(setImmediate);
    ctx.meta.cancellation.cancel("enough");
    await expect(running).rejects.toThrow(CancellationError);
  });

  test("inside a tool: no further model call is made", async () => {
    const ctx = bareContext();
    const stop = defineTool({
      name: "stop",
      description: "",
      input: z.object({}),
      execute: () => ctx.meta.cancellation.cancel("enough"),
    });
    const model = scriptedModel([asks("stop"), "never said"]);
    const error: unknown = await new ReActAgent({ name: "a", model, tools: [stop] })
      .run(ctx, ctx.inbox("go"))
      .catch((thrown: unknown) => thrown);
    expect(isRaviError(error, "CANCELLED")).toBe(true);
    expect(model.calls).toHaveLength(1);
  });
});
