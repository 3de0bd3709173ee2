import {
  type Agent,
  type AgentEvent,
  checkFields,
  checkOneOf,
  InvalidValueError,
  type JsonValue,
  type LLMClient,
} from "@ravi/kernel";
import { checkAgent, checkModel, checkRecord, checkText } from "@ravi/kernel/loop";

/** An event that reports a decision of a strategy. */
export function progress(name: string, data: JsonValue): AgentEvent {
  return { type: "progress", name, data };
}

/** Checks a number between 0 and 1, such as a threshold. */
export function checkShare(field: string, value: unknown): number {
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw new InvalidValueError({ field, value, expected: "a number from 0 to 1" });
}

/** Checks agents by role and freezes them, so that an empty team or a wrong agent is found before a paid run starts. */
export function checkWorkers(field: string, workers: unknown, least = 1): Readonly<Record<string, Agent>> {
  const given = checkRecord(field, workers, "an object of agents by role: { role: agent }");
  const entries = Object.entries(given) as [string, Agent][];
  if (entries.length < least)
    throw new InvalidValueError({
      field,
      value: entries.length,
      expected: least === 1 ? "at least 1 agent" : `at least ${least} agents`,
    });
  for (const [role, agent] of entries) {
    if (role.trim() === "")
      throw new InvalidValueError({
        field,
        value: role,
        expected: "a name of each agent, by which it is chosen",
      });
    checkAgent(`${field}.${role}`, agent);
  }
  return Object.freeze(Object.fromEntries(entries));
}

/** Checks the role of one of the workers. */
export function checkRole(field: string, role: unknown, workers: Readonly<Record<string, Agent>>): string {
  return checkOneOf(field, role, Object.fromEntries(Object.keys(workers).map((name) => [name, name])));
}

/** Checks a model that may be left out. */
export function checkOptionalModel(field: string, model: LLMClient | undefined): LLMClient | undefined {
  if (model !== undefined) checkModel(field, model);
  return model;
}

/**
 * The prompts of a strategy with some replaced. A misspelt name is rejected; otherwise the replacement would silently be ignored.
 */
export function ownPrompts<P extends object>(
  owner: string,
  prompts: P,
  own: { readonly [Name in keyof P]?: P[Name] | undefined } | undefined,
): P {
  if (own === undefined) return prompts;
  const field = `${owner}.prompts`;
  const replaced = Object.entries(checkFields(field, own, Object.keys(prompts)))
    .filter(([, prompt]) => prompt !== undefined)
    .map(([name, prompt]) => [name, checkedPrompt(`${field}.${name}`, prompt)] as const);
  return { ...prompts, ...Object.fromEntries(replaced) };
}

function checkedPrompt(field: string, prompt: unknown): (about: unknown) => string {
  if (typeof prompt !== "function")
    throw new InvalidValueError({ field, value: prompt, expected: "a function that returns a string" });
  return function (this: unknown, about) {
    return checkText(`${field}()`, Reflect.apply(prompt, this, [about]));
  };
}

export const NO_WORKERS: Readonly<Record<string, Agent>> = Object.freeze({});

/** Adds an agent under a role. If a worker already has that name, a number is appended, so that nobody is left out. */
export function withRole(
  workers: Readonly<Record<string, Agent>>,
  role: string,
  agent: Agent,
): Readonly<Record<string, Agent>> {
  let name = role;
  for (let n = 2; Object.hasOwn(workers, name); n++) name = `${role} ${n}`;
  return { ...workers, [name]: agent };
}
