import {
  InvalidValueError,
  type Leaf,
  type LLMClient,
  type ModelRequest,
  type RunHandle,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import { callProblem, hasMethod, isAgent } from "@ravi/kernel/loop";

// Checks at run time what a compiler would have caught, for agents in plain JavaScript. They are told what is wrong before any leaf begins.

/** Throws an `InvalidValueError` that names the wrong field. */
export function checkLeaves(leaves: readonly Leaf[]): void {
  const isList: boolean = Array.isArray(leaves);
  if (!isList) throw invalid("leaves", leaves, "a list of tool, llm and hire leaves");
  for (const leaf of leaves) {
    const problem = leafProblem(leaf);
    if (problem !== undefined) throw problem;
  }
}

function leafProblem(leaf: Leaf): InvalidValueError | undefined {
  switch (leaf?.kind) {
    case "tool":
      return toolProblem("leaf", leaf.call, leaf.tool);
    case "llm":
      return llmProblem("leaf.", leaf.model, leaf.request);
    case "hire":
      return agentProblem("leaf.agent", leaf.agent);
    default:
      return invalid(
        "leaf.kind",
        (leaf as { kind?: unknown } | null | undefined)?.kind,
        '"tool", "llm" or "hire"',
      );
  }
}

/** What is wrong with the tool or the call of it; undefined if nothing is. */
export function toolProblem(owner: string, call: ToolCall, tool: Tool): InvalidValueError | undefined {
  if (typeof tool?.execute !== "function") return invalid(`${owner}.tool`, tool, "a tool made by defineTool");
  // Its content was written by a model, and is checked later: mistakes in it are reported to the model.
  if (typeof call !== "object" || call === null)
    return invalid(`${owner}.call`, call, "an object with id, name and arguments");
  return undefined;
}

/** Why nobody can hire it; undefined if it is an agent. */
export function agentProblem(field: string, agent: unknown): InvalidValueError | undefined {
  if (isAgent(agent)) return undefined;
  return hasMethod(agent, "run")
    ? invalid(`${field}.id`, Reflect.get(Object(agent), "id"), "an AgentId (a string)")
    : invalid(field, agent, "an agent: an object with an id and a run(ctx, inbox) method");
}

/** Why it names no child; undefined if it is a handle. */
export function handleProblem(field: string, handle: RunHandle): InvalidValueError | undefined {
  return typeof handle?.execId === "string"
    ? undefined
    : invalid(field, handle, "the handle that spawn returned");
}

export function isModel(model: LLMClient | null | undefined): model is LLMClient {
  return typeof model?.generate === "function";
}

/** What is wrong with a model call; undefined if nothing is. A call is named after its model's id, and estimated from its info. */
export function llmProblem(
  prefix: string,
  model: LLMClient,
  request: ModelRequest,
): InvalidValueError | undefined {
  const problem = callProblem(prefix, model, request);
  if (problem !== undefined) return problem;
  if (typeof model.id !== "string") return invalid(`${prefix}model.id`, model.id, "a string");
  const isDescribed: boolean = typeof model.info === "object" && model.info !== null;
  return isDescribed ? undefined : invalid(`${prefix}model.info`, model.info, "{ provider, model }");
}

function invalid(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
