import type { StopReason } from "../../agent/agent.ts";
import type { ModelResponse } from "../../model/llm.ts";
import { type AssistantMessage, textOf } from "../../model/messages.ts";
import { isCutOff } from "../cut-off.ts";
import { withoutThoughts } from "../thoughts.ts";

/** What a model's answer means for the loop. */
export type Turn =
  /** It asks for tools. If the answer was cut off, none is run, and the model is told so. */
  | { readonly kind: "tools"; readonly isCutOff: boolean }
  | { readonly kind: "answer"; readonly text: string }
  /** The answer cannot be used; `tell` is the message to the model about it. */
  | { readonly kind: "nothing"; readonly tell: string }
  | { readonly kind: "end"; readonly stopReason: Extract<StopReason, "length" | "refused" | "filtered"> };

const EMPTY = "Your answer was empty. Answer now, or call a tool.";
const LOST_CALL =
  "You wanted to call a tool, but no call arrived. Call it again, or give your final answer without a tool.";

const NO_TOOLS = "You called a tool, but you have no tools. Give your final answer without one.";

const TOOLS: Turn = Object.freeze({ kind: "tools", isCutOff: false });
const CUT_OFF_TOOLS: Turn = Object.freeze({ kind: "tools", isCutOff: true });

/** How often in a row a model may be cut off in the middle of its calls. */
export const MOST_CUT_OFFS = 3;

/**
 * Reads what an answer means for the loop: calls to make, an answer, an end, or nothing usable. Calls of a model without tools
 * can neither be made nor sent back, because servers refuse calls in a conversation without tools.
 */
export function readTurn(response: ModelResponse, hasTools = true): Turn {
  const { message, finishReason } = response;
  if (finishReason === "refused" || finishReason === "filtered")
    return { kind: "end", stopReason: finishReason };
  const calls = message.toolCalls?.length ?? 0;
  if (calls > 0 && hasTools) return isCutOff(response) ? CUT_OFF_TOOLS : TOOLS;
  if (finishReason === "length") return { kind: "end", stopReason: "length" };
  if (calls > 0) return { kind: "nothing", tell: NO_TOOLS };
  if (finishReason === "toolCalls") return { kind: "nothing", tell: LOST_CALL };
  const text = textOf(message);
  return withoutThoughts(text).trim() === "" ? { kind: "nothing", tell: EMPTY } : { kind: "answer", text };
}

/** The message without its calls. */
export function withoutCalls(message: AssistantMessage): AssistantMessage {
  return message.toolCalls === undefined ? message : { role: "assistant", content: message.content };
}
