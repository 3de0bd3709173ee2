import { InvalidValueError, type Leaf, type LLMClient } from "@ravi/kernel";

// Checks at run time what a compiler would have caught, for agents in plain JavaScript. They are told what is wrong before any leaf begins.

/** Throws an `InvalidValueError` that names the wrong field. */
export function checkLeaves(leaves: readonly Leaf[]): void {
  const isList: boolean = Array.isArray(leaves);
  if (!isList) throw invalid("leaves", leaves, "a list of tool, llm and hire leaves");
  for (const leaf of leaves) checkLeaf(leaf);
}

function checkLeaf(leaf: Leaf): void {
  switch (leaf?.kind) {
    case "tool":
      if (typeof leaf.tool?.execute !== "function")
        throw invalid("leaf.tool", leaf.tool, "a tool, as defineTool makes it");
      // Its content was written by a model, and is checked later: mistakes in it are reported to the model.
      if (typeof leaf.call !== "object" || leaf.call === null)
        throw invalid("leaf.call", leaf.call, "a call with an id, a name and arguments");
      return;
    case "llm":
      if (!isModel(leaf.model)) throw noModel("leaf.model", leaf.model);
      return;
    case "hire":
      if (typeof leaf.agent?.run !== "function")
        throw invalid("leaf.agent", leaf.agent, "an agent, with an id and a run");
      return;
    default:
      throw invalid("leaf.kind", (leaf as { kind?: unknown } | null | undefined)?.kind, "tool, llm or hire");
  }
}

export function isModel(model: LLMClient | null | undefined): model is LLMClient {
  return typeof model?.generate === "function";
}

export function noModel(field: string, value: unknown): InvalidValueError {
  return invalid(field, value, "a model, with an id and a generate");
}

function invalid(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
