import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { anthropic } from "@ravi/provider-anthropic";
import { openai } from "@ravi/provider-openai";
import type { LoopbackServer } from "@ravi/testing";

export const STAND_IN = "stand-in";

/** A real model, which is paid for. Its key comes from the environment, under the provider's usual name. */
export function realModel(name: string, baseURL?: string | undefined): LLMClient {
  const [provider, ...rest] = name.split(":");
  const model = rest.join(":");
  if (model !== "" && provider === "openai") return openai(model, { baseURL });
  if (model !== "" && provider === "anthropic" && baseURL === undefined) return anthropic(model);
  throw new InvalidValueError({ field: "model", value: name, expected: "openai:NAME or anthropic:NAME" });
}

/** The real provider, connected to the server on this machine. */
export function standInModel(server: LoopbackServer): LLMClient {
  return openai(STAND_IN, { baseURL: server.url, apiKey: "no-key-needed", contextWindow: 8_000 });
}
