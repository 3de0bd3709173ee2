import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isRaviError } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";

// A local server stands in for OpenAI, so that this runs without a key.
let overloaded = false;
const server = createServer((_, response) => {
  if (overloaded) {
    response.writeHead(429, { "retry-after": "2" }).end('{"error":{"message":"slow down"}}');
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const content of ["Good ", "morning."]) {
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
  }
  response.write('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n');
  response.write('data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}\n\n');
  response.end("data: [DONE]\n\n");
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

// For OpenAI itself: openai("gpt-5.2"), with OPENAI_API_KEY set.
const model = openai("gpt-5.2", { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: "sk-example-key" });
const request = { messages: [{ role: "user" as const, content: "Say good morning." }] };

let text = "";
for await (const event of model.stream?.(request) ?? []) {
  if (event.type === "text") text += event.delta;
  if (event.type === "finish") {
    assert.equal(event.response.message.content, "Good morning.");
    assert.deepEqual(event.response.usage, { inputTokens: 9, outputTokens: 3 });
  }
}
assert.equal(text, "Good morning.");

// A failure is a typed error that says whether a retry can help. The provider itself never retries.
overloaded = true;
await assert.rejects(model.generate(request), (error) => {
  assert.ok(isRaviError(error, "PROVIDER_ERROR"));
  assert.equal(error.kind, "RATE_LIMIT");
  assert.equal(error.retryAfterMs, 2_000);
  return error.retryable;
});

server.close();
server.closeAllConnections();
