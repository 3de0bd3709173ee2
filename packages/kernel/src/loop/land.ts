import type { AgentResult, StopReason } from "../agent/agent.ts";
import type { RunContext } from "../agent/run-context.ts";
import type { BudgetExhaustedError } from "../errors/errors.ts";
import { isRaviError } from "../errors/is.ts";
import type { LLMClient, ModelRequest } from "../model/llm.ts";
import { type ChatMessage, textOf } from "../model/messages.ts";
import { withoutThoughts } from "./thoughts.ts";
import { shorten } from "./tool-content.ts";

export interface LandOptions {
  readonly model: LLMClient;
  /** The request of the turn that could not be made. Its tools are removed. */
  readonly request: ModelRequest;
  readonly stopReason: Extract<StopReason, "budget" | "steps" | "loop">;
  /**
   * The agent's last text in this run, used if even the last turn does not fit. Without it the last assistant text of the request
   * is used, which in a long conversation may be the answer to an earlier question.
   */
  readonly said?: string | undefined;
  /**
   * Whether the agent has had an answer in this run. Then a reserve was held back for its last turn, and the turn may be made
   * smaller to fit into it. If even its first call did not fit, there is no work to conclude, and nothing smaller is sent.
   */
  readonly hasWorked?: boolean | undefined;
}

/**
 * The soft landing: one last turn without tools, paid from the reserve that was held back for it, and a partial result. If the
 * history has grown too large for the reserve, the turn is made smaller until it fits. If nothing fits, or it has thoughts only, the result
 * is the agent's last text.
 */
export async function land(ctx: RunContext, options: LandOptions): Promise<AgentResult<never>> {
  const { tools: _, toolChoice: __, ...rest } = options.request;
  const request: ModelRequest = {
    ...rest,
    messages: [...rest.messages, { role: "user", content: WRAP_UP[options.stopReason] }],
  };
  const output = await lastTurn(ctx, options.model, request, options.hasWorked === true ? SMALLER : []);
  return {
    status: "partial",
    output: withoutThoughts(output).trim() === "" ? (options.said ?? lastText(rest.messages)) : output,
    stopReason: options.stopReason,
  };
}

/** How the turn gets smaller from one attempt to the next: first the room for the answer, then the tool results. */
const SMALLER = [
  { maxOutputTokens: 1_000, resultChars: Infinity },
  { maxOutputTokens: 1_000, resultChars: 2_000 },
  { maxOutputTokens: 500, resultChars: 500 },
  { maxOutputTokens: 250, resultChars: 200 },
] as const;

/** An attempt that does not fit is refused before anything is sent, so it costs nothing. */
async function lastTurn(
  ctx: RunContext,
  model: LLMClient,
  whole: ModelRequest,
  tries: readonly (typeof SMALLER)[number][],
): Promise<string> {
  let request = whole;
  for (const less of [undefined, ...tries]) {
    if (less !== undefined) request = smaller(request, less);
    try {
      return textOf((await ctx.llm(model, request, { wrapUp: true })).message);
    } catch (error) {
      if (isRaviError(error, "BUDGET_EXHAUSTED")) {
        if (!isSizable(ctx, error)) return "";
      } else {
        if (!isOfClient(error)) throw error;
        // A client may have its own error for a call that was aborted.
        ctx.meta.check();
        return "";
      }
    }
  }
  return "";
}

/** Whether the model's client has failed. It may throw any error, which a record gives back as a `ToolError`. */
function isOfClient(error: unknown): boolean {
  return !isRaviError(error) || error.code === "PROVIDER_ERROR" || error.code === "TOOL_ERROR";
}

/**
 * Whether a smaller turn may fit. A limit on turns does not depend on the size. And a limit of an agent above is shared with
 * others that still work: the reserve under it is not for this agent, and a smaller turn would be at their cost.
 */
function isSizable(
  { agentId, supervision }: RunContext,
  { dimension, scope }: BudgetExhaustedError,
): boolean {
  const isOwn = supervision.isRoot || scope === agentId || scope.endsWith(`/${agentId}`);
  return isOwn && (dimension === "tokens" || dimension === "cost");
}

/** Without reasoning, because the little room is for the answer. */
function smaller(request: ModelRequest, less: (typeof SMALLER)[number]): ModelRequest {
  const { reasoning: _, ...rest } = request;
  return {
    ...rest,
    maxOutputTokens: Math.min(request.maxOutputTokens ?? Infinity, less.maxOutputTokens),
    messages: request.messages.map((message) =>
      message.role === "tool" ? { ...message, content: shorten(message.content, less.resultChars) } : message,
    ),
  };
}

const ANSWER =
  "Do not call tools. Give your best final answer now, from what you already know, and say what is missing.";
const WRAP_UP = {
  budget: `Your budget is used up. ${ANSWER}`,
  steps: `You have reached the maximum number of steps. ${ANSWER}`,
  loop: `You are repeating yourself without getting further. ${ANSWER}`,
} as const;

function lastText(messages: readonly ChatMessage[]): string {
  const last = messages.findLast((message) => message.role === "assistant" && textOf(message).trim() !== "");
  return last === undefined ? "" : textOf(last);
}
