import assert from "node:assert/strict";
import { type Agent, AgentId, type Clock, type LLMClient, type ModelResponse, Priority } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { OrchestratorAgent } from "@ravi/orchestrator";

const lead = new OrchestratorAgent({
  name: "lead",
  model: pretendModel(), // for a real model change only this line: openai("…"), anthropic("…")
  instructions: "Split the question, hand the parts over, and put the answers together.",
  subAgents: [
    { agent: expert("geographer", "146,000"), description: "Knows how many people live where." },
    { agent: expert("historian", "1191"), priority: Priority.HIGH, askTimeoutS: 30 },
  ],
  spawnBudget: { maxAgents: 3 }, // enforced by `@ravi/runtime`; the lead counts as one
});

// `@ravi/runtime` gives each hand-off a slot, a budget and a journal. A bare context enforces no rules, which is enough for
// trying things out.
const clock: Clock = {
  now: () => Date.now(),
  setTimer(callback, delayMs) {
    const timer = setTimeout(callback, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};
const ctx = bareContext({ agent: lead, clock });
const result = await lead.run(ctx, ctx.inbox("How many people live in Bern, and how old is it?"));

assert.equal(result.status, "completed");
assert.equal(result.output, "Bern: 146,000; 1191.");

/** Any object with an id and a run method can take over a task: a ReActAgent, a flow, another orchestrator. */
function expert(name: string, answer: string): Agent {
  const run: Agent["run"] = async () => ({ status: "completed", output: answer, stopReason: "done" });
  return { id: AgentId(name), run };
}

/** Stands in for a real model: hands both parts over in one turn, then combines the answers. */
function pretendModel(): LLMClient {
  const handoff = (to: string, task: string) => ({
    id: `call_${to}`,
    name: `handoff_${to}`,
    arguments: JSON.stringify({ task }),
  });
  const toolCalls = [handoff("geographer", "Inhabitants of Bern?"), handoff("historian", "Founded when?")];
  return {
    id: "pretend",
    info: { provider: "pretend", model: "pretend" },
    async generate({ messages }): Promise<ModelResponse> {
      const answers = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
      if (answers.length === 0)
        return { message: { role: "assistant", content: "", toolCalls }, finishReason: "toolCalls" };
      const content = `Bern: ${answers.join("; ")}.`;
      return { message: { role: "assistant", content }, finishReason: "stop" };
    },
  };
}
