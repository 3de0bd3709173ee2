import type { AssistantMessage, ChatMessage } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { fromAiSdk } from "../src/index.ts";
import { ask, FINISH, type FixedAnswer, fixedModel, STOP, streamed, USAGE } from "./support.ts";

interface Said {
  readonly type: string;
  readonly text?: string;
  readonly providerMetadata?: object;
}

/** The same answer whole and streamed: each part is begun, filled and ended, and its metadata come with its start. */
function answer(said: readonly Said[]): FixedAnswer {
  const parts = said.flatMap(({ type, text = "", ...rest }, index) =>
    type === "tool-call"
      ? [{ type, ...rest }]
      : [
          { type: `${type}-start`, id: `${index}`, ...rest },
          { type: `${type}-delta`, id: `${index}`, delta: text },
          { type: `${type}-end`, id: `${index}` },
        ],
  );
  return { result: { content: said, finishReason: STOP, usage: USAGE }, parts: [...parts, FINISH] };
}

const call = (id: string): Said & Record<string, unknown> => ({
  type: "tool-call",
  toolCallId: id,
  toolName: "t",
  input: "{}",
});

/** What goes back of an answer that was kept in a journal, and the answer. Streamed or not, it is the same. */
async function sentBack(given: FixedAnswer): Promise<{ content: unknown; message: AssistantMessage }> {
  const model = fixedModel(given);
  const client = fromAiSdk(model);
  const { message } = await client.generate(ask("go"));
  const { response } = await streamed(client);
  expect(response.message).toEqual(message);
  const kept: ChatMessage = JSON.parse(JSON.stringify(message));
  await client.generate({ messages: [...ask("go").messages, kept, ...ask("on").messages] });
  const [, sent] = model.seen[2]?.prompt ?? [];
  return { content: Object.entries(sent ?? {}).find(([key]) => key === "content")?.[1], message };
}

describe("R19: what a provider needs back with a text", () => {
  test("whether it was a remark or the answer, as @ai-sdk/openai 4.0.115 says it, goes back with each", async () => {
    const openai = (phase: string) => ({ openai: { itemId: `msg_${phase}`, phase } });
    const said = ["commentary", "final_answer"].map((phase) => ({
      type: "text",
      text: `${phase}.`,
      providerMetadata: openai(phase),
    }));
    const { content, message } = await sentBack(answer(said));
    expect(content).toEqual([
      { type: "text", text: "commentary.", providerOptions: openai("commentary") },
      { type: "text", text: "final_answer.", providerOptions: openai("final_answer") },
    ]);
    expect(Array.isArray(message.content) ? message.content.map(({ type }) => type) : []).toEqual([
      "reasoning",
      "text",
      "reasoning",
      "text",
    ]);
  });

  test("does not go back with the next text, which came without", async () => {
    const providerMetadata = { openai: { phase: "commentary" } };
    const said = [
      { type: "text", text: "I look.", providerMetadata },
      { type: "text", text: "Rain." },
    ];
    expect((await sentBack(answer(said))).content).toEqual([
      { type: "text", text: "I look.", providerOptions: providerMetadata },
      { type: "text", text: "Rain." },
    ]);
  });

  test("the signature that @ai-sdk/google 4.0.118 gives after the text goes back with it", async () => {
    const providerMetadata = { google: { thoughtSignature: "sig" } };
    const { content } = await sentBack({
      result: {
        content: [{ type: "text", text: "three", providerMetadata }],
        finishReason: STOP,
        usage: USAGE,
      },
      parts: [
        { type: "text-start", id: "0" },
        { type: "text-delta", id: "0", delta: "three" },
        { type: "text-delta", id: "0", delta: "", providerMetadata },
        { type: "text-end", id: "0" },
        FINISH,
      ],
    });
    expect(content).toEqual([{ type: "text", text: "three", providerOptions: providerMetadata }]);
  });

  test("goes back with a blank text too", async () => {
    const providerMetadata = { google: { thoughtSignature: "sig" } };
    const { content } = await sentBack(answer([{ type: "text", text: "\n", providerMetadata }]));
    expect(content).toEqual([{ type: "text", text: "\n", providerOptions: providerMetadata }]);
  });

  test("nothing is kept of other metadata, and the answer stays a plain text", async () => {
    const providerMetadata = { openai: { itemId: "msg_1", annotations: [] } };
    const { message } = await sentBack(answer([{ type: "text", text: "hi", providerMetadata }]));
    expect(message.content).toBe("hi");
  });

  test("what the server has compacted, as @ai-sdk/anthropic 4.0.102 gives it, is not part of the answer", async () => {
    const providerMetadata = { anthropic: { type: "compaction" } };
    const given = answer([
      { type: "text", text: "They talked.", providerMetadata },
      { type: "text", text: "hi" },
    ]);
    const { events } = await streamed(fromAiSdk(fixedModel(given)));
    expect(events.map((event) => (event.type === "text" ? event.delta : "")).join("")).toBe("hi");
    const { content } = await sentBack(given);
    expect(content).toEqual([
      { type: "text", text: "They talked.", providerOptions: providerMetadata },
      { type: "text", text: "hi" },
    ]);
  });

  test("another model of OpenAI gets it without its place at the server, which belongs to thoughts that it does not get", async () => {
    const own = (more: object) => ({ openai: { phase: "final_answer", ...more } });
    const said = [
      { type: "reasoning", text: "hm", providerMetadata: { openai: { itemId: "rs_1" } } },
      { type: "text", text: "hi", providerMetadata: own({ itemId: "msg_1" }) },
    ];
    const { content, message } = await sentBack({ provider: "openai.responses", ...answer(said) });
    expect(content).toMatchObject([{ type: "reasoning" }, { providerOptions: own({ itemId: "msg_1" }) }]);
    const other = { ...fixedModel({ provider: "openai.responses" }), modelId: "large" };
    await fromAiSdk(other).generate({ messages: [...ask("go").messages, message, ...ask("on").messages] });
    expect(other.seen[0]?.prompt[1]).toEqual({
      role: "assistant",
      content: [{ type: "text", text: "hi", providerOptions: own({}) }],
    });
  });

  test("a provider that did not make it gets the text alone", async () => {
    const said = [{ type: "text", text: "hi", providerMetadata: { openai: { phase: "final_answer" } } }];
    const { message } = await sentBack({ provider: "openai.responses", ...answer(said) });
    const other = fixedModel({ provider: "google.generative-ai" });
    await fromAiSdk(other).generate({ messages: [...ask("go").messages, message, ...ask("on").messages] });
    expect(other.seen[0]?.prompt[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "hi" }] });
  });
});

test.each<[string, object, boolean]>([
  ["signed, as @ai-sdk/anthropic 4.0.102 gives them", { anthropic: { signature: "s" } }, false],
  ["encrypted", { anthropic: { redactedData: "x" } }, false],
  ["sealed by OpenAI", { openai: { itemId: "rs_1", reasoningEncryptedContent: "x" } }, false],
  ["kept at OpenAI, which a model that does not reason refuses", { openai: { itemId: "rs_1" } }, false],
  ["of Gemini, which has to get them back", { google: { thoughtSignature: "s" } }, true],
])(
  "R19: thoughts that are %s go back to the same model; to another of the provider: %#",
  async (_, metadata, goes) => {
    const given = answer([{ type: "reasoning", text: "hm", providerMetadata: metadata }, call("1")]);
    const { content, message } = await sentBack(given);
    const thought = { type: "reasoning", text: "hm", providerOptions: metadata };
    expect(content).toMatchObject([thought, { type: "tool-call" }]);
    const other = { ...fixedModel(given), modelId: "large" };
    await fromAiSdk(other).generate({ messages: [...ask("go").messages, message, ...ask("on").messages] });
    expect(other.seen[0]?.prompt[1]).toMatchObject({
      content: [...(goes ? [thought] : []), { type: "tool-call" }],
    });
  },
);

test("R19: thoughts between calls go back between them", async () => {
  const thought = (text: string): Said => ({
    type: "reasoning",
    text,
    providerMetadata: { openai: { itemId: text } },
  });
  const { content } = await sentBack(answer([thought("a"), call("1"), thought("b"), call("2"), call("3")]));
  expect(content).toMatchObject([
    { type: "reasoning", text: "a" },
    { type: "tool-call", toolCallId: "1" },
    { type: "reasoning", text: "b" },
    { type: "tool-call", toolCallId: "2" },
    { type: "tool-call", toolCallId: "3" },
  ]);
});

test("R19: a call that the provider runs itself is none of the agent's, though @ai-sdk/xai 5.0.12 streams its input", async () => {
  const parts = [
    { type: "tool-input-start", id: "fc_0", toolName: "web_search" },
    { type: "tool-input-delta", id: "fc_0", delta: '{"query":"x"}' },
    { type: "tool-input-end", id: "fc_0" },
    { ...call("fc_0"), toolName: "web_search", input: '{"query":"x"}', providerExecuted: true },
    { type: "tool-result", toolCallId: "fc_0", toolName: "web_search", result: {} },
    { type: "text-delta", id: "0", delta: "found" },
    FINISH,
  ];
  const { response } = await streamed(fromAiSdk(fixedModel({ parts })));
  expect(response.message).toEqual({ role: "assistant", content: "found" });
  expect(response.finishReason).toBe("stop");
  const own = [...parts.slice(0, -1), call("own"), FINISH];
  const second = await streamed(fromAiSdk(fixedModel({ parts: own })));
  expect(second.response.message.toolCalls?.map(({ id }) => id)).toEqual(["own"]);
});
