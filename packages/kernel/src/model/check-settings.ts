import { checkInteger } from "../core/check.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { ModelRequest } from "./llm.ts";

const NUMBERS = ["temperature", "topP", "seed"] as const;
const OBJECTS = ["reasoning", "providerOptions"] as const;

type Settings = Pick<
  ModelRequest,
  "maxOutputTokens" | "stop" | (typeof NUMBERS)[number] | (typeof OBJECTS)[number]
>;

/** Checks only the types of a call's settings. The provider decides which values a model accepts. */
export function checkSettingTypes(field: string, settings: Settings): void {
  const { maxOutputTokens, stop } = settings;
  const wrong = (name: keyof Settings, expected: string): never => {
    throw new InvalidValueError({ field: `${field}.${name}`, value: settings[name], expected });
  };
  if (maxOutputTokens !== undefined) checkInteger(`${field}.maxOutputTokens`, maxOutputTokens, 1);
  for (const name of NUMBERS)
    if (settings[name] !== undefined && !Number.isFinite(settings[name])) wrong(name, "a number");
  if (stop !== undefined && !(Array.isArray(stop) && stop.every((text) => typeof text === "string")))
    wrong("stop", "an array of strings");
  for (const name of OBJECTS)
    if (settings[name] !== undefined && (typeof settings[name] !== "object" || settings[name] === null))
      wrong(name, "an object");
}
