import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LLMClient } from "@ravi/kernel";
import { defineExtension, FileSessionStore, SessionAgent } from "@ravi/session";

// Any LLMClient works. This one repeats the user messages that it sees.
const model: LLMClient = {
  id: "example/echo",
  info: { provider: "example", model: "echo" },
  async generate({ messages }) {
    const said = messages.filter(({ role }) => role === "user").map(({ content }) => content);
    return { message: { role: "assistant", content: `You said: ${said.join(", ")}.` }, finishReason: "stop" };
  },
};
const polite = defineExtension({
  name: "polite",
  on: { before_agent_start: ({ systemPrompt }) => ({ systemPrompt: `${systemPrompt}\nSay please.` }) },
});

const folder = await mkdtemp(join(tmpdir(), "ravi-readme-"));
const store = new FileSessionStore(join(folder, "sessions"));

const first = new SessionAgent({ model, store, sessionId: "tea", extensions: [polite] });
await first.invoke("tea");
const leaf = first.sessionManager.leaf;
await first.invoke("milk");
await first.close();

// Later, perhaps in another process: the conversation is still there, and you can go back to any point of it.
const second = new SessionAgent({ model, store, sessionId: "tea" });
assert.equal((await second.invoke("sugar")).output, "You said: tea, milk, sugar.");
assert(leaf !== null);
await second.fork(leaf);
assert.equal((await second.invoke("lemon")).output, "You said: tea, lemon.");
await second.close();
await rm(folder, { recursive: true });
