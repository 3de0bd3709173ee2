import { InvalidValueError } from "../errors/errors.ts";
import { checkInteger } from "../core/check.ts";
import { canServe } from "./check-ports.ts";

const EXAMPLE = 'openai("gpt-5-mini") of @ravi/provider-openai, or model("openai:gpt-5-mini") of @ravi/sdk';

/**
 * Checks a model client. Its `info` is used to estimate, price and reserve a call, so a missing field would only show in a paid
 * run.
 */
export function checkModel(field: string, model: unknown): void {
  const refuse = (at: string, value: unknown, expected: string): never => {
    throw new InvalidValueError({ field: `${field}${at}`, value, expected });
  };
  if (!canServe(model) || typeof Reflect.get(model, "generate") !== "function")
    return refuse("", model, `an LLMClient with a generate method, such as ${EXAMPLE}`);
  const info: unknown = Reflect.get(model, "info");
  if (typeof info !== "object" || info === null) return refuse(".info", info, "{ provider, model }");
  for (const name of ["provider", "model"]) {
    const value: unknown = Reflect.get(info, name);
    if (typeof value !== "string") refuse(`.info.${name}`, value, "a string");
  }
  for (const name of ["contextWindow", "maxOutputTokens"]) {
    const value: unknown = Reflect.get(info, name);
    if (value !== undefined) checkInteger(`${field}.info.${name}`, value, 1);
  }
}
