import { loopbackAnthropic } from "@ravi/testing";
import { describeModel, type ModelSetup, type ModelUnderTest } from "@ravi/testing/suites";
import { anthropic, type AnthropicOptions } from "@ravi/provider-anthropic";

async function open(setup: ModelSetup, options: AnthropicOptions): Promise<ModelUnderTest> {
  const { script, apiKey, idleTimeoutMs } = setup;
  const server = await loopbackAnthropic({ script, requireKey: apiKey });
  const client = anthropic("claude-sonnet-5-5", { baseURL: server.url, apiKey, idleTimeoutMs, ...options });
  return { client, requests: () => server.requests.length, close: () => server.close() };
}

// The API has no seed, and tells a filter's verdict as a refusal.
describeModel("of Anthropic, on a loopback server", {
  open: (setup) => open(setup, {}),
  without: ["seed", "filtered", "temperature", "topP"],
});

describeModel("of Anthropic, at the older version and never streamed for itself", {
  open: (setup) => open(setup, { apiVersion: "2023-06-01", maxOutputTokens: 4_096 }),
  without: ["seed", "filtered"],
});
