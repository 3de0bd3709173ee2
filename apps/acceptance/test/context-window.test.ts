import { ReAct, SelfRefine, StrategyAgent } from "@ravi/architectures";
import { agentContext, MemoryHistory, Summarization, TokenBudget } from "@ravi/context";
import {
  type Agent,
  AgentId,
  type ChatMessage,
  type CompactionStrategy,
  defineTool,
  HistoryRetention,
  type LLMClient,
  type ModelRequest,
  SessionId,
  textOf,
  toolContent,
} from "@ravi/kernel";
import { estimateTokens } from "@ravi/kernel/loop";
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

const WINDOW = 16_000;
const info = { provider: "scripted", model: "scripted", contextWindow: WINDOW };
const note = (words: number, at = 0): ChatMessage => ({
  role: at % 2 === 0 ? "user" : "assistant",
  content: `Note ${at}: ${"word ".repeat(words)}`,
});
const read = defineTool({
  name: "read",
  description: "Reads a page.",
  input: z.object({ page: z.number() }),
  execute: ({ page }) => `page ${page} ${"word ".repeat(400)}`,
});

function tokensOf({ messages, tools = [] }: ModelRequest): number {
  const specs = tools.map((tool): ChatMessage => ({ role: "system", content: JSON.stringify(tool) }));
  return [...messages, ...specs].reduce((sum, message) => sum + estimateTokens(message), 0);
}

const summarizer = scriptedModel(() => ({ text: "They read pages." }), { info });

test.each<[string, CompactionStrategy]>([
  ["TokenBudget", new TokenBudget()],
  ["Summarization", new Summarization({ model: summarizer, maxSummaryTokens: 100 })],
])("%s counts the conversation that the agent's own `context` puts in front", async (_, compaction) => {
  const history = new MemoryHistory();
  const agentId = AgentId("reader");
  const sessionId = SessionId("talk");
  const past = Array.from({ length: 10 }, (__, at) => note(600, at));
  history.append({ sessionId, agentName: "reader" }, past);
  const pages = 12;
  const model = scriptedModel(
    (__, call): Answer =>
      call < pages
        ? { toolCalls: [{ id: `c${call}`, name: "read", arguments: { page: call } }] }
        : { text: "Read." },
    { info },
  );
  const agent = new ReActAgent({
    name: "reader",
    model,
    tools: [read],
    context: agentContext({ agentId, history }),
  });
  const result = await new Runtime({ compaction }).run(agent, "Read all pages.", { sessionId }).result;
  expect(result).toMatchObject({ status: "completed", output: "Read." });
  const sizes = model.calls.map(({ request }) => tokensOf(request));
  expect(sizes).toHaveLength(pages + 1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(WINDOW * 0.8);
  // What the context gives is sent whole, every time.
  for (const { request } of model.calls) expect(request.messages.slice(0, past.length)).toEqual(past);
});

test("a strategy's conversation leaves room for its prompt and its tools", async () => {
  const history = new MemoryHistory();
  const sessionId = SessionId("talk");
  const past = Array.from({ length: 30 }, (_, at) => note(270, at));
  history.append({ sessionId, agentName: "writer" }, past);
  const described = defineTool({ ...read, description: "word ".repeat(1_500) });
  const model = scriptedModel(() => ({ text: "SCORE: 10\nFine." }), { info });
  const agent = new StrategyAgent({
    name: "writer",
    architecture: new SelfRefine(),
    model,
    tools: [described],
  });
  const runtime = new Runtime({ compaction: new TokenBudget(), history });
  const run = runtime.run(agent, "word ".repeat(3_000), { sessionId, retention: HistoryRetention.PERMANENT });
  expect(await run.result).toMatchObject({ status: "completed" });
  expect(model.calls.length).toBeGreaterThan(0);
  expect(tokensOf(model.calls[0]?.request ?? { messages: [] })).toBeLessThanOrEqual(WINDOW * 0.8);
});
