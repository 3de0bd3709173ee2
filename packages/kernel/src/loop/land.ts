import type { AgentResult, StopReason } from "../agent/agent.ts";
import type { RunContext } from "../agent/run-context.ts";
import { isRaviError } from "../errors/is.ts";
import type { LLMClient, ModelRequest } from "../model/llm.ts";
import { type ChatMessage, textOf } from "../model/messages.ts";

export interface LandOptions {
  readonly model: LLMClient;
  /** The request of the turn that could not be made; its tools are taken away. */
  readonly request: ModelRequest;
  readonly stopReason: Extract<StopReason, "budget" | "steps" | "loop">;
  /**
   * What the agent has said last in this run, for when even the last turn does not fit. Without it the last text of the
   * request is taken, which in a long conversation may be the answer to an earlier question.
   */
  readonly said?: string | undefined;
}

/**
 * The soft landing: one last turn without tools, from the reserve that was held back for it, and a partial result. Where
 * even that does not fit, the result is the last text that the agent has said.
 */
export async function land(ctx: RunContext, options: LandOptions): Promise<AgentResult<never>> {
  const { tools: _, toolChoice: __, ...rest } = options.request;
  const request: ModelRequest = {
    ...rest,
    messages: [...rest.messages, { role: "user", content: WRAP_UP[options.stopReason] }],
  };
  let output: string;
  try {
    output = textOf((await ctx.llm(options.model, request, { wrapUp: true })).message);
  } catch (error) {
    if (!isRaviError(error, "BUDGET_EXHAUSTED") && !isRaviError(error, "PROVIDER_ERROR")) throw error;
    output = "";
  }
  return {
    status: "partial",
    output: output || (options.said ?? lastText(rest.messages)),
    stopReason: options.stopReason,
  };
}

const ANSWER =
  "Do not call tools. Give your best final answer now, from what you already know, and say what is missing.";
const WRAP_UP = {
  budget: `Your budget is used up. ${ANSWER}`,
  steps: `You have taken all the steps that you may take. ${ANSWER}`,
  loop: `You are repeating yourself without getting further. ${ANSWER}`,
} as const;

function lastText(messages: readonly ChatMessage[]): string {
  const last = messages.findLast((message) => message.role === "assistant" && textOf(message) !== "");
  return last === undefined ? "" : textOf(last);
}
