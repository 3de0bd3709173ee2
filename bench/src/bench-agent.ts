import { type Agent, AgentId, defineTool, type LLMClient, type ModelResponse, textOf } from "@ravi/kernel";
import { toolSpec, toolTurn } from "@ravi/kernel/loop";
import * as z from "zod";
import { DONE, inc, type Plan } from "./fake.ts";

// The same loop as an agent, written against the kernel alone.

const tools = [
  defineTool({
    name: "inc",
    description: "n -> n + 1",
    input: z.object({ n: z.number() }),
    idempotent: true,
    execute: inc,
  }),
];
const specs = tools.map(toolSpec);

function fakeModel(plan: Plan): LLMClient {
  return {
    id: "fake",
    info: { provider: "fake", model: "fake" },
    async generate({ messages }): Promise<ModelResponse> {
      const last = messages.at(-1);
      const calls = plan(last?.role === "tool" ? Number(last.content) : 0);
      if (calls === null) return { message: { role: "assistant", content: DONE }, finishReason: "stop" };
      const toolCalls = calls.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) }));
      return { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls" };
    },
  };
}

export function benchAgent(plan: Plan): Agent {
  const model = fakeModel(plan);
  return {
    id: AgentId("bench"),
    async run(ctx, inbox) {
      await ctx.remember({ role: "user", content: inbox.input });
      for (;;) {
        const response = await ctx.llm(model, { messages: await ctx.window(), tools: specs });
        await ctx.remember(response.message);
        if (response.finishReason === "stop")
          return { status: "completed", output: textOf(response.message), stopReason: "done" };
        for (const message of (await toolTurn(ctx, response, tools)).messages) await ctx.remember(message);
      }
    },
  };
}
