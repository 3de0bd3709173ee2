// pi's `Agent` holds its conversation, so every run makes one. It checks arguments with TypeBox, not with zod, and has no sub-agents
// of its own: a tool runs another agent.
import { Agent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream, Type } from "@earendil-works/pi-ai";
import { DONE, inc, plans } from "../../src/fake.ts";

const model = {
  id: "fake",
  name: "fake",
  api: "fake",
  provider: "fake",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1e9,
  maxTokens: 1e6,
};
const usage = {
  input: 1,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 2,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

function reply(content, stopReason) {
  const { api, provider, id } = model;
  return { role: "assistant", content, api, provider, model: id, usage, stopReason, timestamp: 0 };
}

async function pushAnswer(out, messages, plan, deltas) {
  const last = messages.at(-1);
  const calls = await plan(last.role === "toolResult" ? Number(last.content[0].text) : 0);
  if (calls !== null) {
    const content = calls.map(({ id, name, args }) => ({
      type: "toolCall",
      id,
      name,
      arguments: { ...args },
    }));
    const message = reply(content, "toolUse");
    out.push({ type: "start", partial: message });
    out.push({ type: "done", reason: "toolUse", message });
    return;
  }
  const text = { type: "text", text: deltas === 0 ? DONE : "" };
  const message = reply([text], "stop");
  out.push({ type: "start", partial: message });
  if (deltas > 0) {
    out.push({ type: "text_start", contentIndex: 0, partial: message });
    for (let n = 0; n < deltas; n++) {
      text.text += "x";
      out.push({ type: "text_delta", contentIndex: 0, delta: "x", partial: message });
      // One tick for each, as an async generator takes.
      await Promise.resolve();
    }
    out.push({ type: "text_end", contentIndex: 0, content: text.text, partial: message });
  }
  out.push({ type: "done", reason: "stop", message });
}

function streamFnOf(plan, deltas = 0) {
  return (_model, { messages }) => {
    const out = createAssistantMessageEventStream();
    void pushAnswer(out, messages, plan, deltas);
    return out;
  };
}

function result(text) {
  return { content: [{ type: "text", text }], details: undefined };
}

const incTool = {
  name: "inc",
  label: "inc",
  description: "n + 1",
  parameters: Type.Object({ n: Type.Number() }),
  execute: async (_id, args) => result(inc(args)),
};

function agentOf(streamFn, tools) {
  return new Agent({ initialState: { systemPrompt: "You are a bench.", model, tools }, streamFn });
}

function loop(plan, tools) {
  const streamFn = streamFnOf(plan);
  return async () => {
    const agent = agentOf(streamFn, tools);
    await agent.prompt("go");
    return agent.state.messages.at(-1).content[0].text;
  };
}

export function subject(plan, { withTool = true } = {}) {
  return loop(plan, withTool ? [incTool] : []);
}

export function team(size, turns) {
  const tools = Array.from({ length: size }, (_, n) => {
    const run = loop(plans.turns(turns), [incTool]);
    return {
      name: `sub${n}`,
      label: "sub",
      description: "sub",
      parameters: Type.Object({ input: Type.String() }),
      execute: async () => result(await run()),
    };
  });
  return loop(
    plans.team(size, (n) => ({ name: `sub${n}`, args: { input: "go" } })),
    tools,
  );
}

export function streamByCallback(deltas) {
  const streamFn = streamFnOf(plans.answer, deltas);
  return async () => {
    let seen = 0;
    const agent = agentOf(streamFn, []);
    agent.subscribe(({ type, assistantMessageEvent: event }) => {
      if (type === "message_update" && event.type === "text_delta") seen += event.delta.length;
    });
    await agent.prompt("go");
    return seen;
  };
}

/** It has listeners and no iterator, so there is no other way to read it. */
export { streamByCallback as stream };
