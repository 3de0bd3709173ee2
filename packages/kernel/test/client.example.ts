import assert from "node:assert/strict";
import { createServer } from "node:http";
import { AgentId, classifyError, type LLMClient, ProviderError } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { retryAfterMs } from "@ravi/kernel/provider";

// Any object of this shape can be a model. It sends one request per call: the caller decides whether to retry, since it pays
// again.
function houseModel(url: string): LLMClient {
  return {
    id: "house:small",
    info: { provider: "house", model: "small" },
    async generate({ messages }, { signal } = {}) {
      const response = await fetch(url, {
        method: "POST",
        body: JSON.stringify(messages),
        signal: signal ?? null,
      });
      if (!response.ok) {
        const { status, headers } = response;
        // The kind tells the caller whether the call may have been paid for and whether a retry can help. The server's words
        // count too: a quota that is used up is a 429, like a limit that is over in a second.
        const { kind } = classifyError({ status, message: await response.text() });
        const wait = retryAfterMs(headers, Date.now());
        throw new ProviderError({ kind, message: `the house says ${status}`, status, retryAfterMs: wait });
      }
      const { text, read, written } = (await response.json()) as {
        text: string;
        read: number;
        written: number;
      };
      return {
        message: { role: "assistant", content: text },
        finishReason: "stop",
        usage: { inputTokens: read, outputTokens: written },
      };
    },
  };
}

const answers = [
  { text: "It rains.", read: 4, written: 2 },
  { text: null, read: 4, written: 0 },
];
const server = createServer((_, response) => response.end(JSON.stringify(answers.shift()))).listen(
  0,
  "127.0.0.1",
);
await new Promise((resolve) => server.once("listening", resolve));
const address = server.address();
assert(typeof address === "object" && address !== null);
const model = houseModel(`http://127.0.0.1:${address.port}`);

const ctx = bareContext({ agentId: AgentId("lead") });
const request = { messages: [{ role: "user", content: "How is the weather?" }] } as const;
assert.equal((await ctx.llm(model, request)).message.content, "It rains.");

// A malformed answer is a ProviderError that names the wrong field. It counts as paid and is not retried automatically.
await assert.rejects(ctx.llm(model, request), (error) => {
  assert(error instanceof ProviderError);
  assert.equal(error.kind, "FORMAT_ERROR");
  assert.match(
    error.message,
    /^house:small returned a response whose message.content is null; expected a string/,
  );
  return true;
});
server.close();
