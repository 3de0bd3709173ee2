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
        throw invalid("leaf.tool", leaf.tool, "a tool made by defineTool");
      // Its content was written by a model, and is checked later: mistakes in it are reported to the model.
      if (typeof leaf.call !== "object" || leaf.call === null)
        throw invalid("leaf.call", leaf.call, "an object with id, name and arguments");
      return;
    case "llm":
      if (!isModel(leaf.model)) throw noModel("leaf.model", leaf.model);
      return;
    case "hire":
      if (typeof leaf.agent?.run !== "function")
        throw invalid("leaf.agent", leaf.agent, "an agent: an object with an id and a run method");
      return;
    default:
      throw invalid(
        "leaf.kind",
        (leaf as { kind?: unknown } | null | undefined)?.kind,
        '"tool", "llm" or "hire"',
      );
  }
}

export function isModel(model: LLMClient | null | undefined): model is LLMClient {
  return typeof model?.generate === "function";
}

export function noModel(field: string, value: unknown): InvalidValueError {
  return invalid(field, value, "a model: an object with an id and a generate method");
}

function invalid(field: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field, value, expected });
}
