import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ChatMessage, defineTool, type FinishReason, textOf } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { type Answer, scriptedModel, type ScriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, run } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 500;
const MAX_STEPS = 12;

const broken = defineTool({
  name: "broken",
  description: "",
  input: z.object({}),
  execute: () => {
    throw new Error("no");
  },
});

const call = fc.record({
  name: fc.constantFrom("add", "broken", "imagined"),
  arguments: fc.constantFrom("{}", '{"a":1,"b":2}', '{"a":2,"b":2}', '{"a":', '{"__proto__":1}', "[]"),
});
const answer = fc.record({
  text: fc.constantFrom("", " ", "thinking", "the answer"),
  toolCalls: fc.oneof(fc.constant([]), fc.array(call, { maxLength: 4 })),
  finishReason: fc.constantFrom<FinishReason>("stop", "toolCalls", "length", "refused", "filtered", "other"),
});
/** Most answers go on, so that runs are not all over at once. */
const script = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: answer.map((it) => ({ ...it, finishReason: "toolCalls" as const })) },
    { weight: 1, arbitrary: answer },
  ),
  { minLength: MAX_STEPS + 1, maxLength: MAX_STEPS + 1 },
);

/** What every provider asks of a conversation; undefined where it holds. */
function faultIn(messages: readonly ChatMessage[]): string | undefined {
  const open: string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      const expected = open.shift();
      if (expected !== `${message.name}/${message.toolCallId}`) return `result ${at} answers no call`;
      continue;
    }
    if (open.length > 0) return `message ${at} comes before the results of ${open.join(", ")}`;
    if (message.role !== "assistant") continue;
    const calls = message.toolCalls ?? [];
    if (calls.length === 0 && textOf(message).trim() === "") return `message ${at} is empty`;
    open.push(...calls.map(({ id, name }) => `${name}/${id}`));
  }
  return open.length === 0 ? undefined : `no results of ${open.join(", ")}`;
}

async function play(
  answers: readonly Answer[],
): Promise<{ model: ScriptedModel; ran: Awaited<ReturnType<typeof run>> }> {
  const model = scriptedModel(answers);
  return {
    model,
    ran: await run(new ReActAgent({ name: "a", model, tools: [add, broken], maxSteps: MAX_STEPS })),
  };
}

describe("whatever a model says", () => {
  test("the run ends, the conversation stays whole, and only an answer is a success", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (answers) => {
        const { model, ran } = await play(answers);
        const { result, ctx } = ran;
        expect(model.calls.length).toBeLessThanOrEqual(MAX_STEPS + 1);
        for (const { request } of model.calls) expect(faultIn(request.messages)).toBeUndefined();
        expect(faultIn(ctx.window())).toBeUndefined();
        const last = answers[model.calls.length - 1];
        const isAnswer =
          last !== undefined &&
          last.toolCalls.length === 0 &&
          last.text.trim() !== "" &&
          (last.finishReason === "stop" || last.finishReason === "other") &&
          model.calls.at(-1)?.request.tools !== undefined;
        expect(result.status).toBe(isAnswer ? "completed" : "partial");
        if (isAnswer) expect(result.output).toBe(last.text);
        else expect(result.stopReason).not.toBe("done");
      }),
      { numRuns: RUNS },
    );
  });

  test("the same answers lead the same way, as in a replay", async () => {
    await fc.assert(
      fc.asyncProperty(script, async (answers) => {
        const [first, second] = [await play(answers), await play(answers)];
        expect(second.ran.result).toEqual(first.ran.result);
        expect(second.model.calls.map(({ request }) => request)).toEqual(
          first.model.calls.map(({ request }) => request),
        );
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });

  test("the check of conversations bites", () => {
    const asked: ChatMessage = {
      role: "assistant",
      content: "",
      toolCalls: ["1", "2"].map((id) => ({ id, name: "add", arguments: "{}" })),
    };
    const result = (toolCallId: string): ChatMessage => ({
      role: "tool",
      toolCallId,
      name: "add",
      content: "",
    });
    expect(faultIn([asked, result("1"), result("2")])).toBeUndefined();
    expect(faultIn([asked, result("1")])).toBe("no results of add/2");
    expect(faultIn([asked, result("2"), result("1")])).toBe("result 1 answers no call");
    expect(faultIn([asked, result("1"), { role: "user", content: "" }])).toMatch(/^message 2 comes before/);
    expect(faultIn([{ role: "assistant", content: " " }])).toBe("message 0 is empty");
  });
});
