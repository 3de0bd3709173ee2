import assert from "node:assert/strict";
import { isRaviError } from "@ravi/kernel";
import { anthropic } from "@ravi/provider-anthropic";
import { loopbackAnthropic } from "@ravi/testing";

// A local server stands in for Anthropic, so that this runs without a key.
const server = await loopbackAnthropic({
  script: [
    { reasoning: "They want the weather.", toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }] },
    { text: "It rains.", usage: { inputTokens: 900, outputTokens: 3, cachedInputTokens: 800 } },
    { fault: { type: "status", status: 529, headers: { "retry-after": "2" } } },
  ],
});

// For Anthropic itself: anthropic("claude-sonnet-5-5"), with ANTHROPIC_API_KEY set.
const model = anthropic("claude-sonnet-5-5", { baseURL: server.url, apiKey: "sk-ant-example" });
const question = { role: "user" as const, content: "How is the weather in Oslo?" };
const tools = [
  {
    name: "weather",
    description: "The weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } } },
  },
];

const { message } = await model.generate({ messages: [question], tools });
const call = message.toolCalls?.[0];
assert.equal(call?.arguments, '{"city":"Oslo"}');

// Send the answer back unchanged, with its reasoning. The next answer is streamed.
const result = { role: "tool" as const, toolCallId: call.id, name: call.name, content: "rain, 4 degrees" };
const messages = [question, message, result];
let text = "";
for await (const event of model.stream?.({ messages, tools }) ?? []) {
  if (event.type === "text") text += event.delta;
  if (event.type === "finish") assert.equal(event.response.usage?.cachedInputTokens, 800);
}
assert.equal(text, "It rains.");

// A failure is a typed error that says whether a retry can help. The provider itself never retries.
await assert.rejects(model.generate({ messages, tools }), (error) => {
  assert.ok(isRaviError(error, "PROVIDER_ERROR"));
  assert.equal(error.kind, "OVERLOADED");
  assert.equal(error.retryAfterMs, 2_000);
  return error.retryable;
});
await server.close();
