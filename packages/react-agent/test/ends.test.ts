import { describe, expect, test } from "vitest";
import { defineTool, MiddlewareTermination, textOf } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ReActAgent } from "@ravi/react-agent";
import { type Answer, scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, asks, exhausted, run, withTurns } from "./support.ts";

const again = (n: number) => asks("add", { a: n, b: 1 });

describe("limits", () => {
  test("at maxSteps it gets one last turn without tools, and the result is partial", async () => {
    const model = scriptedModel((request, n) => (request.tools === undefined ? "as far as I got" : again(n)));
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add], maxSteps: 3 }));
    expect(result).toEqual({ status: "partial", output: "as far as I got", stopReason: "steps" });
    expect(model.calls).toHaveLength(4);
    expect(textOf(model.calls[3]?.request.messages.at(-1) ?? { content: "" })).toMatch(
      /the maximum number of steps/,
    );
  });

  test("50 steps, when nothing is said", async () => {
    const model = scriptedModel((request, n) => (request.tools === undefined ? "enough" : again(n)));
    await run(new ReActAgent({ name: "a", model, tools: [add] }));
    expect(model.calls).toHaveLength(51);
  });

  test("R19: after a breach there is no further model call but the wrap-up, and the result is partial", async () => {
    const model = scriptedModel((request, n) => (request.tools === undefined ? "so far" : again(n)));
    const ctx = withTurns(2, { reserve: true });
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }), "go", { ctx });
    expect(result).toEqual({ status: "partial", output: "so far", stopReason: "budget" });
    expect(model.calls).toHaveLength(3);
    // What it said belongs to the conversation, which may go on.
    expect(ctx.window().at(-1)).toEqual({ role: "assistant", content: "so far" });
  });

  test("where not even the wrap-up fits, the result is what it said last", async () => {
    const model = scriptedModel([
      { text: "I think it is 4.", toolCalls: [{ name: "add", arguments: { a: 2, b: 2 } }] },
    ]);
    const ctx = withTurns(1, { reserve: false });
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }), "go", { ctx });
    expect(result).toEqual({ status: "partial", output: "I think it is 4.", stopReason: "budget" });
    expect(ctx.window().filter(({ content }) => content === "I think it is 4.")).toHaveLength(1);
  });

  test("a budget that allows nothing at all gives an empty partial result", async () => {
    const ctx = withTurns(0, { reserve: false });
    const { result } = await run(new ReActAgent({ name: "a", model: scriptedModel([]) }), "go", { ctx });
    expect(result).toEqual({ status: "partial", output: "", stopReason: "budget" });
  });

  test("a window that cannot be paid for (a compaction by a model) lands with the last one", async () => {
    const ctx = bareContext();
    const window = ctx.window.bind(ctx);
    let reads = 0;
    ctx.window = (options) => {
      if (++reads > 1) throw exhausted("turns", 1);
      return window(options);
    };
    const model = scriptedModel([again(1), "so far"]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }), "go", { ctx });
    expect(result).toEqual({ status: "partial", output: "so far", stopReason: "budget" });
    expect(model.calls[1]?.request.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "user",
    ]);
  });

  test("a tool that meets the budget lands; every call has its result by then", async () => {
    const dear = defineTool({
      name: "dear",
      description: "",
      input: z.object({}),
      execute: () => {
        throw exhausted("toolCalls", 1);
      },
    });
    const model = scriptedModel([
      { toolCalls: [{ name: "dear" }, { name: "add", arguments: { a: 1, b: 1 } }] },
      "wrapped up",
    ]);
    const { result, ctx } = await run(
      new ReActAgent({ name: "a", model, tools: [dear, add], toolConcurrency: 1 }),
    );
    expect(result).toEqual({ status: "partial", output: "wrapped up", stopReason: "budget" });
    expect(ctx.window().filter(({ role }) => role === "tool")).toHaveLength(2);
  });

  test("a guardrail's stop is thrown on, and the calls have their results", async () => {
    const stop = new MiddlewareTermination({ layer: "guard", reason: "no" });
    const guarded = defineTool({
      name: "guarded",
      description: "",
      input: z.object({}),
      execute: () => {
        throw stop;
      },
    });
    const model = scriptedModel([asks("guarded")]);
    const agent = new ReActAgent({ name: "a", model, tools: [guarded] });
    await expect(run(agent)).rejects.toBe(stop);
  });
});

describe("what models really say", () => {
  test("cut off without calls: partial, length", async () => {
    const model = scriptedModel([{ text: "Once upon a", finishReason: "length" }]);
    const { result } = await run(new ReActAgent({ name: "a", model }));
    expect(result).toEqual({ status: "partial", output: "Once upon a", stopReason: "length" });
  });

  test("cut off inside its calls: none is run, it is told so, and may go on", async () => {
    let ran = 0;
    const count = defineTool({ name: "count", description: "", input: z.object({}), execute: () => ++ran });
    const model = scriptedModel([
      { toolCalls: [{ name: "count" }, { name: "count", arguments: '{"x' }], finishReason: "length" },
      "shorter now",
    ]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [count] }));
    expect(result).toEqual({ status: "completed", output: "shorter now", stopReason: "done" });
    expect(ran).toBe(0);
    expect(textOf(model.calls[1]?.request.messages.at(-1) ?? { content: "" })).toMatch(
      /none of its calls were run/,
    );
  });

  test("cut off inside its calls again and again: partial after the third time", async () => {
    const model = scriptedModel(() => ({ toolCalls: [{ name: "add" }], finishReason: "length" }));
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    expect(result).toEqual({ status: "partial", output: "", stopReason: "length" });
    expect(model.calls).toHaveLength(3);
  });

  test("cut off inside its calls, but not three times in a row: it goes on", async () => {
    const cut: Answer = { toolCalls: [{ name: "add" }], finishReason: "length" };
    const model = scriptedModel([cut, cut, asks("add", { a: 1, b: 2 }), cut, cut, "3"]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    expect(result).toEqual({ status: "completed", output: "3", stopReason: "done" });
  });

  test.each(["refused", "filtered"] as const)("%s is a partial result that says so", async (finishReason) => {
    let ran = 0;
    const count = defineTool({ name: "count", description: "", input: z.object({}), execute: () => ++ran });
    const model = scriptedModel([{ text: "I cannot.", toolCalls: [{ name: "count" }], finishReason }]);
    const { result, ctx } = await run(new ReActAgent({ name: "a", model, tools: [count] }));
    expect(result).toEqual({ status: "partial", output: "I cannot.", stopReason: finishReason });
    expect(ran).toBe(0);
    // A call without a result would spoil the conversation for good.
    expect(ctx.window().at(-1)).toEqual({ role: "assistant", content: "I cannot." });
  });

  test.each(["", "  \n"])("an empty answer (%j) is asked for once more", async (text) => {
    const model = scriptedModel([text, "Here."]);
    const { result } = await run(new ReActAgent({ name: "a", model }));
    expect(result).toEqual({ status: "completed", output: "Here.", stopReason: "done" });
    expect(model.calls[1]?.request.messages).toEqual([
      { role: "user", content: "go" },
      { role: "user", content: "Your answer was empty. Answer now, or call a tool." },
    ]);
  });

  test("an answer that stays empty is never a success", async () => {
    const model = scriptedModel(["", { reasoning: "hmm", text: "" }]);
    const { result } = await run(new ReActAgent({ name: "a", model }));
    expect(result).toEqual({ status: "partial", output: "", stopReason: "steps" });
  });

  test("thoughts alone, which a server has left in the text, are no answer", async () => {
    const thoughts = "<think>They want a number.</think>\n";
    const model = scriptedModel([thoughts, "7"]);
    const agent = new ReActAgent({ name: "a", model });
    expect((await run(agent)).result).toEqual({ status: "completed", output: "7", stopReason: "done" });
    const { result } = await run(new ReActAgent({ name: "a", model: scriptedModel([thoughts, thoughts]) }));
    expect(result).toEqual({ status: "partial", output: "", stopReason: "steps" });
  });

  test("who goes on working after an empty answer may be empty once more", async () => {
    const model = scriptedModel(["", again(1), "", "Here."]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    expect(result.output).toBe("Here.");
  });

  test("a call that got lost on the way is asked for once more", async () => {
    const model = scriptedModel([{ text: "I will look it up.", finishReason: "toolCalls" }, "It is 7."]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    expect(result.output).toBe("It is 7.");
    expect(textOf(model.calls[1]?.request.messages.at(-1) ?? { content: "" })).toMatch(/no call arrived/);
  });
});
