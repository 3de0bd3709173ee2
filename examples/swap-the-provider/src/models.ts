import { createOpenAI } from "@ai-sdk/openai";
import { InvalidValueError, type LLMClient } from "@ravi/kernel";
import { fromAiSdk } from "@ravi/provider-ai-sdk";
import { anthropic } from "@ravi/provider-anthropic";
import { openai } from "@ravi/provider-openai";
import type { Place } from "./servers.ts";

export type ProviderName = "openai" | "anthropic" | "ai-sdk";

/** The line that changes, once for each provider. The rest of the program is the same for all. */
export function modelOf(provider: ProviderName, { openaiURL, anthropicURL, apiKey }: Place): LLMClient {
  switch (provider) {
    case "openai":
      return openai("gpt-5.2", { baseURL: openaiURL, apiKey, api: "responses" });
    case "anthropic":
      return anthropic("claude-sonnet-5", { baseURL: anthropicURL, apiKey });
    case "ai-sdk":
      return fromAiSdk(createOpenAI({ baseURL: openaiURL, apiKey }).responses("gpt-5.2"), {
        // Nothing is stored at the provider, so that another one can continue the conversation.
        providerOptions: { openai: { store: false } },
      });
    default:
      throw new InvalidValueError({
        field: "provider",
        value: provider,
        expected: "openai, anthropic or ai-sdk",
      });
  }
}
