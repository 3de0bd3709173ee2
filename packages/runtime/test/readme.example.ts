import assert from "node:assert/strict";
import { type Agent, AgentId, type LLMClient, textOf } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";

// Stands in for a model; any LLMClient works here. It counts the calls that are paid for.
let paid = 0;
const model: LLMClient = {
  id: "echo",
  info: { provider: "example", model: "echo" },
  async generate({ messages }) {
    paid++;
    const last = messages.at(-1);
    return {
      message: { role: "assistant", content: `I heard: ${last === undefined ? "" : textOf(last)}` },
      finishReason: "stop",
    };
  },
};

// An agent that asks the model, then waits for a person to sign, for minutes or for days.
const clerk: Agent = {
  id: AgentId("clerk"),
  async run(ctx, inbox) {
    const { message } = await ctx.llm(model, { messages: [{ role: "user", content: inbox.input }] });
    const answer = await ctx.waitFor("signature");
    return {
      status: "completed",
      output: `${textOf(message)}, signed ${String(answer)}`,
      stopReason: "done",
    };
  },
};

// The first runtime (usually a process of its own) pays for the model call and is closed before anybody has signed.
const journal = new MemoryJournal();
const first = new Runtime({ journal });
const started = first.run(clerk, "the contract", { runId: "contract-7" });
for await (const { event } of started.events()) if (event.type === "usage") break;
await first.close();
assert.equal((await started.result).status, "suspended");

// The second one resumes from the journal: the model's answer is recorded there and is not paid for again.
const second = new Runtime({ journal, agents: [clerk] });
const resumed = second.resume("contract-7");
await second.deliver("contract-7", "signature", "Ada");
const result = await resumed.result;
await second.close();
assert.equal(result.output, "I heard: the contract, signed Ada");
assert.equal(paid, 1);
