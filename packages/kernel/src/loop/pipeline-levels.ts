import type { Agent } from "../agent/agent.ts";
import { checkFields } from "../core/check.ts";
import type { Pipelines } from "../ports/middleware.ts";

export const PIPELINE_LEVELS: readonly (keyof Pipelines)[] = ["agent", "chat", "function"];

/** A guard at a level that is misspelt would guard nothing. Asked for every run and hire, so nothing is made where all is well. */
export function checkPipelines({ id, pipelines }: Pick<Agent, "id" | "pipelines">): void {
  if (pipelines === undefined || (typeof pipelines === "object" && areLevels(pipelines))) return;
  checkFields(`agent ${id}: pipelines`, pipelines, PIPELINE_LEVELS);
}

function areLevels(pipelines: Pipelines): boolean {
  for (const level in pipelines)
    if (level !== "agent" && level !== "chat" && level !== "function") return false;
  // Null has none either.
  return pipelines !== null;
}
