import { MiddlewareError, type ModelResponse, type ToolResult } from "@ravi/kernel";
import { answerMisfit, isContent, isUnset, toolFailure, withTextArguments } from "@ravi/kernel/loop";
import type { ChatCall } from "./chat-call.ts";
import type { FunctionCall } from "./function-call.ts";

// The result that layers leave is checked like the answer of a provider: a layer in plain JavaScript may set anything, and the agent that
// reads it would be the one to fail.

const NOTHING = "neither called next() nor set a result";

/** The answer that the layers have left. Throws a `MiddlewareError` if there is none, or if it is no valid response. */
export function layersAnswer({ result }: ChatCall): ModelResponse {
  if (isUnset(result)) throw missingResult("chat");
  const misfit = answerMisfit(result);
  if (misfit === undefined) return withTextArguments(result);
  throw new MiddlewareError({ layer: "chat", problem: `a layer set ${misfit}` });
}

/**
 * The result that the layers have left. If there is none, or it has no valid content, the model gets a failure, as for any other failure of
 * a tool call.
 */
export function layersResult({ result, tool }: FunctionCall): ToolResult {
  if (isUnset(result)) return toolFailure(`a layer around ${tool.name} ${NOTHING}`);
  if (isContent(result.content)) return result;
  return toolFailure(`a layer around ${tool.name} set a result without valid content`);
}

export function missingResult(layer: string): MiddlewareError {
  return new MiddlewareError({ layer, problem: `a layer ${NOTHING}` });
}
