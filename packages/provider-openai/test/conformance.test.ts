import { openai } from "@ravi/provider-openai";
import { loopbackOpenAI } from "@ravi/testing";
import { describeModel } from "@ravi/testing/suites";

for (const api of ["responses", "chat"] as const) {
  describeModel(`openai over ${api}, against the loopback server`, {
    async open({ script, apiKey, idleTimeoutMs }) {
      const server = await loopbackOpenAI({ script, requireKey: apiKey });
      return {
        client: openai("test-model", { api, baseURL: server.url, apiKey, idleTimeoutMs }),
        requests: () => server.requests.length,
        close: () => server.close(),
      };
    },
    // The Responses API has no place for them.
    without: api === "responses" ? ["stop", "seed"] : [],
  });
}
