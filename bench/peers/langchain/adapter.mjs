// LangChain's `createAgent`, which is a LangGraph graph. One definition serves any number of runs.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { AIMessage, AIMessageChunk, createAgent, tool } from "langchain";
import * as z from "zod";
import { DONE, inc, plans } from "../../src/fake.ts";

class FakeModel extends BaseChatModel {
  constructor(plan, deltas = 0) {
    super({});
    this.plan = plan;
    this.deltas = deltas;
  }

  _llmType() {
    return "fake";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const last = messages.at(-1);
    const calls = await this.plan(last.getType() === "tool" ? Number(last.content) : 0);
    const message =
      calls === null
        ? new AIMessage(DONE)
        : new AIMessage({ content: "", tool_calls: calls.map((call) => ({ type: "tool_call", ...call })) });
    return { generations: [{ text: message.content, message }] };
  }

  async *_streamResponseChunks(_messages, _options, runManager) {
    for (let n = 0; n < this.deltas; n++) {
      const chunk = new ChatGenerationChunk({ text: "x", message: new AIMessageChunk("x") });
      yield chunk;
      await runManager?.handleLLMNewToken("x", undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

const incTool = tool(async (args) => inc(args), {
  name: "inc",
  description: "n + 1",
  schema: z.object({ n: z.number() }),
});
const config = { recursionLimit: 10_000 };
const input = () => ({ messages: [{ role: "user", content: "go" }] });

function loop(plan, tools) {
  const agent = createAgent({ model: new FakeModel(plan), tools, systemPrompt: "You are a bench." });
  return async () => (await agent.invoke(input(), config)).messages.at(-1).content;
}

export function subject(plan, { withTool = true } = {}) {
  return loop(plan, withTool ? [incTool] : []);
}

/** As its documentation shows sub-agents: a tool that invokes another agent. */
export function team(size, turns) {
  const tools = Array.from({ length: size }, (_, n) =>
    tool(loop(plans.turns(turns), [incTool]), {
      name: `sub${n}`,
      description: "sub",
      schema: z.object({ input: z.string() }),
    }),
  );
  return loop(
    plans.team(size, (n) => ({ name: `sub${n}`, args: { input: "go" } })),
    tools,
  );
}

export function stream(deltas) {
  const agent = createAgent({ model: new FakeModel(plans.answer, deltas), tools: [] });
  return async () => {
    let seen = 0;
    for await (const [chunk] of await agent.stream(input(), { ...config, streamMode: "messages" }))
      seen += chunk.content.length;
    return seen;
  };
}
