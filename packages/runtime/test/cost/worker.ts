import { type Agent, AgentId, defineTool, type LLMClient, type ModelResponse } from "@ravi/kernel";
import { planLoop, toolLoop } from "@ravi/kernel/loop";
import * as z from "zod";

const usage = { inputTokens: 1, outputTokens: 1 };

/** A model that asks for a tool so many times, then answers. Its one promise a call is the model's, not ours. */
function countingModel(turns: number, filler: string): LLMClient {
  return {
    id: "fake",
    info: { provider: "fake", model: "fake" },
    generate({ messages }): Promise<ModelResponse> {
      const last = messages.at(-1);
      const n = last?.role === "tool" ? Number.parseInt(String(last.content), 10) : 0;
      if (n >= turns) {
        const message = { role: "assistant", content: "done" } as const;
        return Promise.resolve({ message, finishReason: "stop", usage });
      }
      const call = { id: `c${n}`, name: "inc", arguments: JSON.stringify({ n }) };
      const message = { role: "assistant", content: filler, toolCalls: [call] } as const;
      return Promise.resolve({ message, finishReason: "toolCalls", usage });
    },
  };
}

/** What `ReActAgent` is: the loop of the kernel, with one synchronous tool. */
export function worker(turns: number, filler = ""): Agent {
  const inc = defineTool({
    name: "inc",
    description: "n -> n + 1",
    input: z.object({ n: z.number() }),
    idempotent: true,
    execute: ({ n }) => `${n + 1} ${filler}`,
  });
  const plan = planLoop("worker", {
    name: "worker",
    model: countingModel(turns, filler),
    tools: [inc],
    maxSteps: turns + 1,
  });
  return { id: AgentId("worker"), run: (ctx, inbox) => toolLoop(plan, ctx, inbox) };
}
