// OpenAI Agents' `Runner`, without its tracing. One definition serves any number of runs.
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import * as z from "zod";
import { DONE, inc, plans } from "../../src/fake.ts";

setTracingDisabled(true);
const runner = new Runner({ tracingDisabled: true });
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function lastOf(input) {
  const item = typeof input === "string" ? undefined : input.at(-1);
  if (item?.type !== "function_call_result") return 0;
  return Number(typeof item.output === "string" ? item.output : item.output.text);
}

function message(text) {
  const content = [{ type: "output_text", text }];
  return { type: "message", role: "assistant", status: "completed", content };
}

function answer(calls) {
  if (calls === null) return [message(DONE)];
  return calls.map(({ id, name, args }) => ({
    type: "function_call",
    callId: id,
    name,
    status: "completed",
    arguments: JSON.stringify(args),
  }));
}

function model(plan, deltas = 0) {
  return {
    async getResponse({ input }) {
      return { usage: new Usage(usage), output: answer(await plan(lastOf(input))) };
    },
    async *getStreamedResponse() {
      yield { type: "response_started" };
      for (let n = 0; n < deltas; n++) yield { type: "output_text_delta", delta: "x" };
      const response = { id: "r", output: [message("x".repeat(deltas))], usage };
      yield { type: "response_done", response };
    },
  };
}

const incTool = tool({
  name: "inc",
  description: "n + 1",
  parameters: z.object({ n: z.number() }),
  execute: async (args) => inc(args),
});

function agentOf(plan, tools, name = "bench") {
  return new Agent({ name, instructions: "You are a bench.", model: model(plan), tools });
}

function runs(agent) {
  return async () => (await runner.run(agent, "go", { maxTurns: 2_000 })).finalOutput;
}

export function subject(plan, { withTool = true } = {}) {
  return runs(agentOf(plan, withTool ? [incTool] : []));
}

export function team(size, turns) {
  const tools = Array.from({ length: size }, (_, n) =>
    agentOf(plans.turns(turns), [incTool], `sub${n}`).asTool({
      toolName: `sub${n}`,
      toolDescription: "sub",
      runConfig: { tracingDisabled: true },
      runOptions: { maxTurns: 100 },
    }),
  );
  return runs(
    agentOf(
      plans.team(size, (n) => ({ name: `sub${n}`, args: { input: "go" } })),
      tools,
    ),
  );
}

export function stream(deltas) {
  const agent = new Agent({ name: "bench", model: model(plans.answer, deltas) });
  return async () => {
    let seen = 0;
    const result = await runner.run(agent, "go", { stream: true });
    for await (const text of result.toTextStream()) seen += text.length;
    await result.completed;
    return seen;
  };
}
