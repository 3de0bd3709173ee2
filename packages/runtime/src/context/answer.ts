import { type LLMClient, type ModelResponse, ProviderError } from "@ravi/kernel";

// A model that was not compiled may give anything.

export function isAnswer(given: ModelResponse | null | undefined): given is ModelResponse {
  return typeof given === "object" && given !== null;
}

export function noAnswer({ id, info }: LLMClient, given: unknown): ProviderError {
  const message = `${id} gave ${given === null ? "null" : typeof given} where an answer was expected`;
  return new ProviderError({ kind: "FORMAT_ERROR", message, ...info });
}
