// A Strands `Agent` holds its conversation and refuses to be called twice at once, so every run makes one. Its default window of
// 40 messages is replaced by the manager that keeps everything, as all others do.
import { Agent, Model, NullConversationManager, tool } from "@strands-agents/sdk";
import * as z from "zod";
import { DONE, inc, plans } from "../../src/fake.ts";

class FakeModel extends Model {
  constructor(plan, deltas = 0) {
    super();
    this.plan = plan;
    this.deltas = deltas;
    this.config = { modelId: "fake", contextWindowLimit: 1e9 };
  }

  getConfig() {
    return this.config;
  }

  updateConfig() {}

  async *stream(messages) {
    const block = messages.at(-1).content.at(-1);
    const calls = await this.plan(block.type === "toolResultBlock" ? Number(block.content[0].text) : 0);
    yield { type: "modelMessageStartEvent", role: "assistant" };
    if (calls === null) yield* this.text();
    else for (const call of calls) yield* toolUse(call);
    yield { type: "modelMessageStopEvent", stopReason: calls === null ? "endTurn" : "toolUse" };
  }

  *text() {
    yield { type: "modelContentBlockStartEvent" };
    if (this.deltas === 0) yield textDelta(DONE);
    for (let n = 0; n < this.deltas; n++) yield textDelta("x");
    yield { type: "modelContentBlockStopEvent" };
  }
}

function textDelta(text) {
  return { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
}

function* toolUse({ id, name, args }) {
  yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name, toolUseId: id } };
  yield {
    type: "modelContentBlockDeltaEvent",
    delta: { type: "toolUseInputDelta", input: JSON.stringify(args) },
  };
  yield { type: "modelContentBlockStopEvent" };
}

const incTool = tool({
  name: "inc",
  description: "n + 1",
  inputSchema: z.object({ n: z.number() }),
  callback: (args) => inc(args),
});

function agentOf(model, tools, name = "bench") {
  const conversationManager = new NullConversationManager();
  return new Agent({
    model,
    tools,
    name,
    systemPrompt: "You are a bench.",
    printer: false,
    conversationManager,
  });
}

function textOf({ lastMessage }) {
  return lastMessage.content.at(-1).text;
}

export function subject(plan, { withTool = true } = {}) {
  const model = new FakeModel(plan);
  const tools = withTool ? [incTool] : [];
  return async () => textOf(await agentOf(model, tools).invoke("go"));
}

/** Its own `asTool`, which resets a sub-agent before each call. */
export function team(size, turns) {
  const model = new FakeModel(plans.team(size, (n) => ({ name: `sub${n}`, args: { input: "go" } })));
  const worker = new FakeModel(plans.turns(turns));
  const tools = Array.from({ length: size }, (_, n) => agentOf(worker, [incTool], `sub${n}`).asTool());
  return async () => textOf(await agentOf(model, tools).invoke("go"));
}

export function stream(deltas) {
  const model = new FakeModel(plans.answer, deltas);
  return async () => {
    let seen = 0;
    for await (const { type, event } of agentOf(model, []).stream("go"))
      if (type === "modelStreamUpdateEvent" && event.type === "modelContentBlockDeltaEvent")
        seen += event.delta.text.length;
    return seen;
  };
}
