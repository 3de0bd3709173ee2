import type { Agent } from "../agent/agent.ts";
import { checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { Pipeline, Pipelines } from "../ports/middleware.ts";

export const PIPELINE_LEVELS: readonly (keyof Pipelines)[] = ["agent", "chat", "function"];

/** A guard at a level that is misspelt would guard nothing. Asked for every run and hire, so nothing is made where all is well. */
export function checkPipelines({ id, pipelines }: Pick<Agent, "id" | "pipelines">): void {
  if (pipelines === undefined || (typeof pipelines === "object" && areLevels(pipelines))) return;
  const field = `agent ${id}: pipelines`;
  checkLevels(field, pipelines);
}

/** The same of whoever is given them: an agent, or a runtime. */
export function checkLevels(field: string, pipelines: unknown): void {
  const given = checkFields(field, pipelines, PIPELINE_LEVELS);
  for (const level of PIPELINE_LEVELS) {
    const value = given[level];
    if (isRunnable(value as Pipeline<never> | undefined)) continue;
    const expected =
      "an object with the methods run, admit, such as a MiddlewarePipeline of @ravi/middleware";
    throw new InvalidValueError({ field: `${field}.${level}`, value, expected });
  }
}

function areLevels(pipelines: Pipelines): boolean {
  let isSaid = false;
  for (const level in pipelines) {
    isSaid = true;
    if (level !== "agent" && level !== "chat" && level !== "function") return false;
    if (!isRunnable(pipelines[level])) return false;
  }
  // Null has none either, nor has a promise.
  return isSaid;
}

/** What is put together of no layers is never asked for anything. */
function isRunnable(pipeline: Partial<Pipeline<never>> | null | undefined): boolean {
  if (pipeline === undefined) return true;
  const { isNoop, hasAdmits, run, admit } = pipeline ?? {};
  return (
    isNoop === true || (typeof run === "function" && (hasAdmits === false || typeof admit === "function"))
  );
}
