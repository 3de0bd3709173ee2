import { type ChatMessage, type ModelRequest, textOf, type ToolCall } from "@ravi/kernel";
import { expect } from "vitest";
import { PNG } from "./requests.ts";
import { ask, type ModelCase, type ModelStage, type OpenedModel, waysOf } from "./stage.ts";
import { SEARCH } from "./tool-calls.ts";

/** Ids as some servers make them: long, in any script, with characters that other servers refuse. */
const ODD_IDS = ["x".repeat(300), `toolu|${"é東".repeat(20)} #1/2`, `${"x".repeat(299)}y`];

/** Arguments that a model may write, and that then stay in the conversation. */
const HOSTILE = [
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  String.raw`{"s":"\ud800 \udc00","\udbff":1e400}`,
  `{"s":"half \ud800"}`,
];

/**
 * A conversation with other providers: reasoning that only they can read, odd ids, images in a tool's result, a failed tool,
 * turns without text.
 */
const FOREIGN: readonly ChatMessage[] = [
  { role: "system", content: "You are brief." },
  { role: "user", content: "What is in the picture, and what is the weather?", name: "ada" },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "First the picture.", opaque: { provider: "elsewhere", data: "c2VjcmV0" } },
      { type: "reasoning", text: "", opaque: { provider: "elsewhere", data: "ZW5jcnlwdGVk" } },
      { type: "text", text: "I look." },
    ],
    toolCalls: ODD_IDS.map((id, n) => ({ id, name: "search", arguments: `{"query":"q${n}"}` })),
  },
  {
    role: "tool",
    toolCallId: ODD_IDS[0] ?? "",
    name: "search",
    content: [
      { type: "text", text: "a pixel" },
      { type: "image", url: PNG, mediaType: "image/png" },
    ],
  },
  { role: "tool", toolCallId: ODD_IDS[1] ?? "", name: "search", content: "it failed", isError: true },
  { role: "tool", toolCallId: ODD_IDS[2] ?? "", name: "search", content: "" },
  { role: "assistant", content: "" },
  { role: "user", content: "Go on." },
];

/** Sends a conversation that ends with a call that failed. The model must be able to go on. */
async function expectAnswerAfter(
  stage: ModelStage,
  call: Omit<ToolCall, "id">,
  failure: string,
  before: readonly ChatMessage[] = [{ role: "user", content: "go" }],
): Promise<void> {
  const { client } = await stage.open(["Still here."]);
  const id = "call_1";
  const { message } = await client.generate({
    tools: [SEARCH],
    messages: [
      ...before,
      { role: "assistant", content: "", toolCalls: [{ id, ...call }] },
      { role: "tool", toolCallId: id, name: call.name, content: failure, isError: true },
    ],
  });
  expect(textOf(message)).toBe("Still here.");
}

export const historyCases: readonly ModelCase[] = [
  {
    rule: "R19",
    says: "tool calls and their results go back as they came",
    needs: ["tools"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const opened = await stage.open([
          {
            text: "I look.",
            toolCalls: [
              { name: "search", arguments: { query: "weather", deep: { list: [1, "zwei"] } } },
              { name: "search", arguments: {} },
            ],
          },
          "It rains.",
        ]);
        const first = ask("How is it in Oslo?", { tools: [SEARCH] });
        const { message } = await way.call(opened.client, first);
        const second = { ...first, messages: [...first.messages, message, ...resultsOf(message.toolCalls)] };
        expect(textOf((await way.call(opened.client, second)).message)).toBe("It rains.");
        if (!stage.has("seesRequests")) continue;
        expectPairs(opened, 1, second);
      }
    },
  },
  {
    rule: "R19",
    says: "an answer with reasoning goes back in front of its tool results",
    needs: ["tools", "reasoning"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const opened = await stage.open([
          {
            reasoning: "I had better look.",
            toolCalls: [{ name: "search", arguments: { query: "weather" } }],
          },
          "It rains.",
        ]);
        const first = ask("How is it in Oslo?", { tools: [SEARCH], reasoning: { effort: "low" } });
        const { message } = await way.call(opened.client, first);
        const second = { ...first, messages: [...first.messages, message, ...resultsOf(message.toolCalls)] };
        expect(textOf((await way.call(opened.client, second)).message)).toBe("It rains.");
      }
    },
  },
  {
    rule: "R19",
    says: "arguments that are broken JSON can go back beside their error",
    needs: ["tools"],
    async run(stage) {
      for (const args of ['{"query":', "", "null", "[1]", '"text"'])
        await expectAnswerAfter(stage, { name: "search", arguments: args }, "broken JSON");
    },
  },
  {
    rule: "R19",
    says: "a call of a tool that the model invented can go back beside its error, whatever its name",
    needs: ["tools"],
    async run(stage) {
      for (const name of ["functions.search", "web search", "検索", "x".repeat(200), ""])
        await expectAnswerAfter(stage, { name, arguments: "{}" }, "there is no such tool");
    },
  },
  {
    rule: "T11",
    says: "hostile arguments and halves of letters can go back, and do not stop the conversation",
    needs: ["tools"],
    async run(stage) {
      for (const args of HOSTILE) {
        await expectAnswerAfter(stage, { name: "search", arguments: args }, "half \ud800", [
          { role: "system", content: "half \ud800" },
          { role: "user", content: "half \udc00" },
        ]);
        expect(Reflect.get({}, "polluted")).toBeUndefined();
      }
    },
  },
  {
    rule: "R19",
    says: "a conversation that another provider made goes on",
    needs: ["tools"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const opened = await stage.open(["Gladly."]);
        const request: ModelRequest = { messages: FOREIGN, tools: [SEARCH] };
        expect(textOf((await way.call(opened.client, request)).message)).toBe("Gladly.");
        if (!stage.has("seesRequests")) continue;
        expectPairs(opened, 0, request);
        const said = opened.asked[0]?.request.messages.map(textOf).join("\n") ?? "";
        for (const text of ["You are brief.", "I look.", "a pixel", "it failed", "Go on."]) {
          expect(said).toContain(text);
        }
        if (!stage.has("translates")) continue;
        expect(
          JSON.stringify(opened.asked[0]?.request),
          "`opaque` data of another provider must not be sent",
        ).not.toContain("ZW5jcnlwdGVk");
      }
    },
  },
  {
    rule: "R19",
    says: "notes of the system in the middle, and turns of one side in a row, are taken",
    async run(stage) {
      const messages: readonly ChatMessage[] = [
        { role: "system", content: "You are brief." },
        { role: "user", content: "one" },
        { role: "user", content: "two" },
        { role: "assistant", content: "three" },
        { role: "system", content: "The budget is nearly spent." },
        { role: "assistant", content: "four" },
        { role: "user", content: "five" },
      ];
      const opened = await stage.open(["six"]);
      expect(textOf((await opened.client.generate({ messages })).message)).toBe("six");
      if (!stage.has("seesRequests")) return;
      const said = opened.asked[0]?.request.messages.map(textOf).join("\n") ?? "";
      for (const { content } of messages) expect(said).toContain(content);
    },
  },
];

function resultsOf(calls: readonly ToolCall[] | undefined): ChatMessage[] {
  return (calls ?? []).map(({ id, name }, n) => ({
    role: "tool",
    toolCallId: id,
    name,
    content: `result ${n}`,
  }));
}

/**
 * Expects that the server read as many calls and results as were sent, in the same order, each result under the id of its call.
 */
function expectPairs(opened: OpenedModel, index: number, sent: ModelRequest): void {
  const seen = opened.asked[index]?.request.messages ?? [];
  const calls = callsOf(seen);
  const results = seen.filter((message) => message.role === "tool");
  expect(calls.map((call) => [call.name, argumentsOf(call)])).toEqual(
    callsOf(sent.messages).map((call) => [call.name, argumentsOf(call)]),
  );
  expect(results.map(({ toolCallId }) => toolCallId)).toEqual(calls.map(({ id }) => id));
  expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
  const texts = sent.messages.filter(({ role }) => role === "tool").map(textOf);
  results.forEach((result, n) => expect(textOf(result)).toContain(texts[n]));
}

function callsOf(messages: readonly ChatMessage[]): readonly ToolCall[] {
  return messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
}

/** Parsed, because protocols that carry an object serialize it again: only its content must stay the same. */
function argumentsOf(call: ToolCall): unknown {
  return JSON.parse(call.arguments);
}
