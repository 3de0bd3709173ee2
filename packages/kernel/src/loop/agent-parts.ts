import { checkFields, checkRecord } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import { checkSettingTypes } from "../model/check-settings.ts";
import { executionBudget } from "../policy/execution-budget.ts";
import { isLedger } from "./limits.ts";
import { loopDetector } from "./loop-detection.ts";
import { checkLevels } from "./pipeline-levels.ts";
import type { LoopOptions, ModelSettings } from "./tool-loop/options.ts";

/** The options that agents of every kind share. */
export type AgentParts = Pick<
  LoopOptions,
  | "hooks"
  | "middleware"
  | "executionBudget"
  | "loopDetection"
  | "settings"
  | "validator"
  | "version"
  | "description"
  | "clock"
>;

/**
 * Checks at run time what the compiler checks in TypeScript, so that a mistake is reported with the owner's name and not in the
 * middle of a paid run.
 */
export function checkAgentParts(owner: string, parts: AgentParts): void {
  const wrong = refusalFor(owner);
  const { hooks, middleware, executionBudget: budget, loopDetection, validator, clock } = parts;
  if (hooks !== undefined && !hasMethod(hooks, "dispatch"))
    wrong("hooks", hooks, "Hooks, such as a HookManager of @ravi/hooks");
  if (clock !== undefined && !hasMethod(clock, "now")) wrong("clock", clock, "a Clock with a now method");
  if (validator !== undefined && typeof validator !== "function")
    wrong("validator", validator, "a function (schema, value) that returns an array of issues");
  for (const field of ["version", "description"] as const)
    if (parts[field] !== undefined && typeof parts[field] !== "string")
      wrong(field, parts[field], "a string");
  if (budget !== undefined && !isLedger(budget)) executionBudget(budget);
  if (loopDetection !== undefined && loopDetection !== false) {
    checkRecord(
      `${owner}.loopDetection`,
      loopDetection,
      "limits such as { sameTool: { warn: 10, halt: 20 } }, or false",
    );
    loopDetector(loopDetection);
  }
  if (parts.settings !== undefined) checkSettings(`${owner}.settings`, parts.settings);
  if (middleware !== undefined) checkLevels(`${owner}.middleware`, middleware);
}

export const SETTINGS: readonly (keyof ModelSettings)[] = [
  "maxOutputTokens",
  "temperature",
  "topP",
  "stop",
  "seed",
  "reasoning",
  "providerOptions",
];

function checkSettings(field: string, settings: ModelSettings): void {
  checkFields(field, settings, SETTINGS);
  checkSettingTypes(field, settings);
}

/** Makes a function that throws an `InvalidValueError` for a field of the owner. */
export function refusalFor(owner: string): (field: string, value: unknown, expected: string) => never {
  return (field, value, expected) => {
    throw new InvalidValueError({ field: `${owner}.${field}`, value, expected });
  };
}

export function hasMethod(value: unknown, method: string): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, method) === "function";
}
