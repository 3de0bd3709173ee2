import { type Agent, AgentId, type DelegateTool, type LLMClient, textOf, type Tool } from "@ravi/kernel";
import { land, toolSpec, toolTurn } from "@ravi/kernel/loop";

export interface LoopAgentOptions {
  readonly name: string;
  readonly model: LLMClient;
  readonly instructions: string;
  readonly tools: readonly (Tool | DelegateTool)[];
  readonly maxSteps?: number | undefined;
}

/** The plainest agent there is: ask the model, do what it asks for, repeat until it answers. */
export function loopAgent({ name, model, instructions, tools, maxSteps = 10 }: LoopAgentOptions): Agent {
  const specs = tools.map(toolSpec);
  return {
    id: AgentId(name),
    async run(ctx, inbox) {
      await ctx.remember({ role: "user", content: inbox.input });
      for (let step = 1; ; step++) {
        await ctx.check();
        const request = { messages: await ctx.window({ system: instructions, tools: specs }), tools: specs };
        if (step > maxSteps) return land(ctx, { model, request, stopReason: "steps" });
        ctx.emit({ type: "step", step });
        const response = await ctx.llm(model, request);
        if (response.usage !== undefined) ctx.emit({ type: "usage", usage: response.usage, costUsd: null });
        await ctx.remember(response.message);
        const calls = response.message.toolCalls ?? [];
        if (calls.length === 0)
          return { status: "completed", output: textOf(response.message), stopReason: "done" };
        for (const call of calls) ctx.emit({ type: "toolCall", call });
        const turn = await toolTurn(ctx, response, tools);
        for (const message of turn.messages) await ctx.remember(message);
        if (turn.stop !== undefined) throw turn.stop;
      }
    },
  };
}
