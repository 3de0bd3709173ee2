import type { Agent } from "../agent/agent.ts";
import { checkFields } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { Pipeline, Pipelines } from "../ports/middleware.ts";

const PIPELINE_LEVELS: readonly (keyof Pipelines)[] = ["agent", "chat", "function"];

/**
 * Checks an agent's pipelines: a guard at a misspelt level would guard nothing. It runs for every run and hire, so it allocates
 * nothing if all is well.
 */
export function checkPipelines({ id, pipelines }: Pick<Agent, "id" | "pipelines">): void {
  if (pipelines === undefined || (typeof pipelines === "object" && areLevels(pipelines))) return;
  const field = `agent ${id}: pipelines`;
  checkLevels(field, pipelines);
}

/** The same of whoever is given them: an agent, or a runtime. */
export function checkLevels(field: string, pipelines: unknown): void {
  const given = checkFields(field, pipelines, PIPELINE_LEVELS);
  for (const level of PIPELINE_LEVELS) {
    const value = given[level] as Partial<Pipeline<never>> | undefined;
    if (isRunnable(value) && isAt(level, value)) continue;
    const expected = isRunnable(value)
      ? `a pipeline of the ${level} level; this one is of the ${value?.level} level, where its layers belong`
      : "an object with the methods run and admit, such as a MiddlewarePipeline of @ravi/middleware";
    throw new InvalidValueError({ field: `${field}.${level}`, value, expected });
  }
}

/** Whether there is any layer around runs, model calls or tool calls. */
export function hasLayers({ agent, chat, function: call }: Pipelines = {}): boolean {
  return [agent, chat, call].some((pipeline) => pipeline !== undefined && !pipeline.isNoop);
}

function areLevels(pipelines: Pipelines): boolean {
  let hasLevels = false;
  for (const level in pipelines) {
    hasLevels = true;
    if (level !== "agent" && level !== "chat" && level !== "function") return false;
    if (!isRunnable(pipelines[level]) || !isAt(level, pipelines[level])) return false;
  }
  // Null and a promise have no fields either.
  return hasLevels;
}

/** Whether the pipeline may stand at this level: one that says no level is taken for one of any. */
function isAt(level: keyof Pipelines, pipeline: Pick<Pipeline<never>, "level"> | undefined): boolean {
  return pipeline?.level === undefined || pipeline.level === level;
}

/** A pipeline without layers is never called, so it needs no methods. */
function isRunnable(pipeline: Partial<Pipeline<never>> | null | undefined): boolean {
  if (pipeline === undefined) return true;
  const { isNoop, hasAdmits, run, admit } = pipeline ?? {};
  return (
    isNoop === true || (typeof run === "function" && (hasAdmits === false || typeof admit === "function"))
  );
}
