import assert from "node:assert/strict";
import { isRaviError } from "@ravi/kernel";
import { type AiSdkModel, fromAiSdk } from "@ravi/provider-ai-sdk";

// Any AI SDK model works: openai("gpt-5.2") of @ai-sdk/openai, google("gemini-2.5-pro") of @ai-sdk/google, ... This one is written
// by hand, so that the example runs without a key.
let overloaded = false;
const someModel: AiSdkModel = {
  specificationVersion: "v4",
  provider: "example.chat",
  modelId: "small",
  async doGenerate({ prompt }) {
    if (overloaded) {
      const told = { statusCode: 429, responseHeaders: { "retry-after": "2" } };
      throw Object.assign(new Error("slow down"), told);
    }
    return {
      content: [{ type: "text", text: `You said ${prompt.length} things.` }],
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 9, cacheRead: 4 }, outputTokens: { total: 3 } },
      warnings: [],
    };
  },
  async doStream() {
    throw new Error("not in this example");
  },
};

const model = fromAiSdk(someModel);
const request = { messages: [{ role: "user" as const, content: "Good morning." }] };
const response = await model.generate(request);
assert.equal(response.message.content, "You said 1 things.");
assert.deepEqual(response.usage, { inputTokens: 9, outputTokens: 3, cachedInputTokens: 4 });

// A failure is a typed error that says whether a retry can help. The provider itself never retries.
overloaded = true;
await assert.rejects(model.generate(request), (error) => {
  assert.ok(isRaviError(error, "PROVIDER_ERROR"));
  assert.equal(error.kind, "RATE_LIMIT");
  assert.equal(error.retryAfterMs, 2_000);
  return error.retryable;
});
