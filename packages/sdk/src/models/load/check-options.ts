import { checkFields, checkInteger, checkOneOf, InvalidValueError } from "@ravi/kernel";
import type { ProviderOptions } from "../options.ts";

// The providers check these too. But they are loaded at the first call, and a wrong value has to be reported where it was written.

export function checkOpenAIOptions({ api, organization, project }: ProviderOptions): void {
  if (api !== undefined)
    checkOneOf("model options.api", api, { responses: "responses", chat: "chat" } as const);
  for (const [name, value] of Object.entries({ organization, project }))
    if (value !== undefined && typeof value !== "string") refuse(name, value, "a text");
}

export function checkAnthropicOptions({ apiVersion, cache, thinking }: ProviderOptions): void {
  if (apiVersion !== undefined && !/^\d{4}-\d\d-\d\d$/.test(apiVersion))
    refuse("apiVersion", apiVersion, "a date such as 2026-10-21");
  if (cache !== undefined && cache !== false && cache !== "5m" && cache !== "1h")
    refuse("cache", cache, '"5m", "1h" or false');
  if (thinking === undefined || thinking === "adaptive" || thinking === "off") return;
  const given: unknown = thinking;
  if (typeof given !== "object" || given === null)
    refuse("thinking", given, '"adaptive", "off" or { budgetTokens }');
  checkFields("model options.thinking", given, ["budgetTokens"]);
  checkInteger("model options.thinking.budgetTokens", thinking.budgetTokens, 1_024);
}

function refuse(name: string, value: unknown, expected: string): never {
  throw new InvalidValueError({ field: `model options.${name}`, value, expected });
}
