import assert from "node:assert/strict";
import { type LLMClient, ProviderError, textOf } from "@ravi/kernel";
import { cache, piiRedaction, retry, timeout, wrapModel } from "@ravi/middleware";

// Any LLMClient works. This one fails once as overloaded, then repeats what it was sent.
let calls = 0;
const model: LLMClient = {
  id: "echo",
  info: { provider: "example", model: "echo" },
  async generate({ messages }) {
    if (++calls === 1) throw new ProviderError({ kind: "OVERLOADED", message: "try again" });
    const said = messages.map(textOf).join(" ");
    return { message: { role: "assistant", content: `You said: ${said}` }, finishReason: "stop" };
  },
};

// The first layer is the outermost one.
const careful = wrapModel(model, [
  piiRedaction(),
  cache({ ttlMs: 60_000 }),
  retry({ maxRetries: 3, baseMs: 1 }),
  timeout({ timeoutMs: 30_000 }),
  async (context, next) => {
    await next();
    assert.equal(context.result?.finishReason, "stop");
  },
]);

const question = { messages: [{ role: "user", content: "I am alice@example.com" }] } as const;
const first = await careful.generate(question);
assert.equal(first.message.content, "You said: I am [EMAIL]");
assert.equal(calls, 2);

const second = await careful.generate(question);
assert.equal(second.cached, true);
assert.equal(calls, 2);
console.log(second.message.content);
