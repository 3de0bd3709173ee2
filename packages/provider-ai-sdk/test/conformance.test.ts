import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { loopbackAnthropic, loopbackOpenAI } from "@ravi/testing";
import { describeModel } from "@ravi/testing/suites";
import { fromAiSdk } from "../src/index.ts";

describeModel("fromAiSdk over @ai-sdk/openai (chat)", {
  async open({ script, apiKey, idleTimeoutMs }) {
    const server = await loopbackOpenAI({ script, requireKey: apiKey });
    const openai = createOpenAI({ baseURL: server.url, apiKey });
    return {
      client: fromAiSdk(openai.chat("test-model"), { idleTimeoutMs }),
      requests: () => server.requests.length,
      close: () => server.close(),
    };
  },
  without: ["reasoning", "refused", "cacheWriteUsage"],
});

describeModel("fromAiSdk over @ai-sdk/openai (responses)", {
  async open({ script, apiKey, idleTimeoutMs }) {
    const server = await loopbackOpenAI({ script, requireKey: apiKey });
    const openai = createOpenAI({ baseURL: server.url, apiKey });
    return {
      // Nothing is kept at the server, so that a conversation can be continued elsewhere.
      client: fromAiSdk(openai.responses("o4-mini"), {
        idleTimeoutMs,
        providerOptions: { openai: { store: false } },
      }),
      requests: () => server.requests.length,
      close: () => server.close(),
    };
  },
  without: ["cacheWriteUsage", "temperature", "topP", "stop", "seed", "refused"],
});

describeModel("fromAiSdk over @ai-sdk/anthropic", {
  async open({ script, apiKey, idleTimeoutMs }) {
    const server = await loopbackAnthropic({ script, requireKey: apiKey });
    const anthropic = createAnthropic({ baseURL: `${server.url}/v1`, apiKey });
    return {
      client: fromAiSdk(anthropic("claude-sonnet-4-5"), { idleTimeoutMs }),
      requests: () => server.requests.length,
      close: () => server.close(),
    };
  },
  // Usage is a part of each answer, the API has no seed, and tells a filter's verdict as a refusal.
  without: ["silentUsage", "seed", "filtered"],
});
