import { MiddlewareError, type ModelResponse, type ToolResult } from "@ravi/kernel";
import { answerMisfit, isContent, isUnset, toolFailure } from "@ravi/kernel/loop";
import type { ChatCall } from "./chat-call.ts";
import type { FunctionCall } from "./function-call.ts";

// What layers leave as a result is checked like what a provider gives: a layer that was not compiled may set anything, and the agent that
// reads it is not the one who failed.

const NOTHING = "neither called next() nor set a result";

export function layersAnswer({ result }: ChatCall): ModelResponse {
  if (isUnset(result)) throw leftNothing("chat");
  const misfit = answerMisfit(result);
  if (misfit === undefined) return result;
  throw new MiddlewareError({ layer: "chat", problem: `a layer set ${misfit}` });
}

/** For the model, like every failure of a tool call. */
export function layersResult({ result, tool }: FunctionCall): ToolResult {
  if (isUnset(result)) return toolFailure(`a layer around ${tool.name} ${NOTHING}`);
  if (isContent(result.content)) return result;
  return toolFailure(`a layer around ${tool.name} set a result without a content that can be told`);
}

export function leftNothing(layer: string): MiddlewareError {
  return new MiddlewareError({ layer, problem: `a layer ${NOTHING}` });
}
