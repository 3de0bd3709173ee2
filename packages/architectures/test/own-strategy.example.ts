import assert from "node:assert/strict";
import { type Architecture, type LLMClient, textOf } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { StrategyAgent } from "@ravi/architectures";

// Asks for a shorter text until it is short enough.
function shorten(maxLength: number, maxRounds = 3): Architecture {
  return {
    name: "shorten",
    declaredWorkers: () => ({}), // the agents that it may hire, by role
    async *run(session, { runtime, model }, prompt) {
      let text = prompt;
      for (let round = 1; round <= maxRounds; round++) {
        const messages = [{ role: "user", content: `Shorten this: ${text}` }] as const;
        text = textOf((await runtime.llm(model, { messages })).message);
        session.output = text; // the best answer so far, which is the result if a limit ends the run here
        yield { type: "progress", name: "shorten.round", data: { round, length: text.length } };
        if (text.length <= maxLength) return;
      }
      session.interrupted = true; // the result is `partial`
      session.interruptionReason = "steps"; // its `stopReason`
    },
  };
}

// Stands in for a real model: it leaves out the last word.
const model: LLMClient = {
  id: "pretend",
  info: { provider: "pretend", model: "pretend" },
  async generate({ messages }) {
    const content = textOf(messages.at(-1) ?? { content: "" }).replace(/^Shorten this: | \S+$/g, "");
    return { message: { role: "assistant", content }, finishReason: "stop" };
  },
};

const editor = new StrategyAgent({ name: "editor", model, architecture: shorten(9) });
const ctx = bareContext({ agent: editor });
const result = await editor.run(ctx, ctx.inbox("It rains in Oslo"));
assert.deepEqual([result.status, result.output], ["completed", "It rains"]);

const strict = new StrategyAgent({ name: "strict", model, architecture: shorten(2, 1) });
const cut = await strict.run(ctx, ctx.inbox("It rains in Oslo"));
assert.deepEqual([cut.status, cut.stopReason, cut.output], ["partial", "steps", "It rains in"]);
