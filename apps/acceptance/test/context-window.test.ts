import { ReAct, StrategyAgent } from "@ravi/architectures";
import { TokenBudget } from "@ravi/context";
import { type Agent, defineTool, type LLMClient, textOf, toolContent } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { type Answer, scriptedModel } from "@ravi/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const url = `data:image/png;base64,${"BwcH".repeat(10_000)}`;
const look = defineTool({
  name: "look",
  description: "Shows the screen.",
  input: z.object({ at: z.number() }),
  execute: ({ at }) =>
    toolContent([
      { type: "text", text: `screen ${at}` },
      { type: "image", url },
    ]),
});

function looking(times: number) {
  const script = (_: unknown, call: number): Answer =>
    call < times
      ? { toolCalls: [{ id: `c${call}`, name: "look", arguments: { at: call } }] }
      : { text: "Seen." };
  return scriptedModel(script, {
    info: { provider: "scripted", model: "scripted", contextWindow: 16_000 },
  });
}

test.each<[string, (model: LLMClient) => Agent]>([
  ["a ReActAgent", (model) => new ReActAgent({ name: "seer", model, tools: [look] })],
  [
    "an orchestrator",
    (model) => new OrchestratorAgent({ name: "seer", model, tools: [look], subAgents: [hand()] }),
  ],
])("TokenBudget keeps %s below the context window of its model, pictures included", async (_, make) => {
  const model = looking(30);
  const runtime = new Runtime({ compaction: new TokenBudget() });
  const result = await runtime.run(make(model), "Look around.").result;
  expect(result).toMatchObject({ status: "completed", output: "Seen." });
  const pictures = model.calls.map(({ request }) => JSON.stringify(request).split(url).length - 1);
  expect(Math.max(...pictures)).toBeLessThanOrEqual((16_000 * 0.8) / 1_600);
  expect(pictures.at(-1)).toBeGreaterThanOrEqual(1);
  const last = model.calls.at(-1)?.request.messages ?? [];
  expect(last.map(textOf)).toContain("screen 29");
});

test("TokenBudget knows the context window of a strategy's model", async () => {
  const agent = new StrategyAgent({
    name: "seer",
    architecture: new ReAct(),
    model: looking(1),
    tools: [look],
  });
  const { result } = new Runtime({ compaction: new TokenBudget() }).run(agent, "Look around.");
  expect(await result).toMatchObject({ status: "completed", output: "Seen." });
});

function hand() {
  return { agent: new ReActAgent({ name: "hand", model: scriptedModel([]) }), description: "Helps." };
}
