import type { AssistantMessage, ChatMessage, ContentPart } from "@ravi/kernel";
import type { OpenAIOptions } from "@ravi/provider-openai";
import { loopbackOpenAI } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { client, HELLO, listener, rawServer, SPOKEN, textItem } from "./support.ts";

const OK = SPOKEN.responses.whole("ok");

/** The items that a conversation becomes on the wire. */
async function inputOf(messages: readonly ChatMessage[], options: OpenAIOptions = {}): Promise<unknown> {
  await using server = await rawServer((response) => void response.end(OK));
  await client(server, { api: "responses", ...options }).generate({ messages });
  return server.bodies[0]?.["input"];
}

describe("ids of tool calls", () => {
  const pair = (id: string): ChatMessage[] => [
    { role: "assistant", content: "", toolCalls: [{ id, name: "f", arguments: "{}" }] },
    { role: "tool", toolCallId: id, name: "f", content: "done" },
  ];
  const idsOf = async (ids: readonly string[]): Promise<string[]> => {
    const items = (await inputOf(ids.flatMap(pair))) as { call_id: string }[];
    return items.map((item) => item.call_id);
  };

  test("of any shape become such as the API takes, the same each time, and calls and results stay together", async () => {
    const odd = ["a".repeat(300), `${"a".repeat(299)}b`, "toolu|é東 #1/2", "toolu|é東 #1/3", "", "call_ok-1"];
    const ids = await idsOf(odd);
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/);
    expect(ids.filter((_, n) => n % 2 === 0)).toEqual(ids.filter((_, n) => n % 2 === 1));
    expect(new Set(ids).size).toBe(odd.length);
    expect(ids.at(-1)).toBe("call_ok-1");
    expect(await idsOf(odd)).toEqual(ids);
  });

  test("that a server gives out anew in each turn are told apart", async () => {
    expect(await idsOf(["call_0", "call_0", "call_0"])).toEqual([
      "call_0",
      "call_0",
      "call_0_2",
      "call_0_2",
      "call_0_3",
      "call_0_3",
    ]);
  });

  test("a name that a model made up does not make the conversation unsendable", async () => {
    const items = await inputOf([
      { role: "assistant", content: "", toolCalls: [{ id: "a", name: "no.such tool", arguments: "" }] },
      { role: "tool", toolCallId: "a", name: "no.such tool", content: "there is none" },
      { role: "assistant", content: "", toolCalls: [{ id: "b", name: "", arguments: "" }] },
      { role: "tool", toolCallId: "b", name: "", content: "there is none" },
    ]);
    expect(items).toMatchObject([{ name: "no_such_tool" }, {}, { name: "unnamed" }, {}]);
  });
});

describe("reasoning", () => {
  const reasoning = (id: string, text: string, more: object = {}): object => ({
    type: "reasoning",
    id,
    summary: text === "" ? [] : [{ type: "summary_text", text }],
    ...more,
  });
  const call = (id: string): object => ({
    type: "function_call",
    id: `fc_${id}`,
    call_id: id,
    name: "f",
    arguments: "{}",
  });

  /** What a server that answered so gets back with the next turn, and the message in between. */
  const roundTrip = async (output: readonly object[], options: OpenAIOptions = {}) => {
    await using server = await rawServer((response, _, index) => {
      if (index === 0) response.end(JSON.stringify({ status: "completed", output }));
      else response.end(OK);
    });
    const model = client(server, { api: "responses", ...options });
    const { message } = await model.generate(HELLO);
    await model.generate({ messages: [message] });
    return { message, back: server.bodies[1]?.["input"] };
  };

  test("R19: comes back sealed as it was, each item right before what followed from it", async () => {
    const { back } = await roundTrip([
      reasoning("rs1", "First.", { encrypted_content: "sealed-1" }),
      call("a"),
      reasoning("rs2", "", { encrypted_content: "sealed-2" }),
      call("b"),
      call("c"),
      reasoning("rs3", "Now.", { encrypted_content: "sealed-3" }),
      textItem("Done."),
    ]);
    const sentCall = (id: string): object => ({
      type: "function_call",
      call_id: id,
      name: "f",
      arguments: "{}",
    });
    expect(back).toEqual([
      reasoning("rs1", "First.", { encrypted_content: "sealed-1" }),
      sentCall("a"),
      reasoning("rs2", "", { encrypted_content: "sealed-2" }),
      sentCall("b"),
      sentCall("c"),
      reasoning("rs3", "Now.", { encrypted_content: "sealed-3" }),
      { role: "assistant", content: "Done." },
    ]);
  });

  test("R19: of open models comes back as it was said", async () => {
    const open = {
      type: "reasoning",
      id: "rs1",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm." }],
    };
    const { back } = await roundTrip([open, call("a")]);
    expect(back).toMatchObject([open, { call_id: "a" }]);
  });

  test("that is not sealed cannot come back: the server would not find it", async () => {
    const { message, back } = await roundTrip([reasoning("rs1", "Hm."), textItem("Done.")]);
    expect(message.content).toEqual([
      { type: "reasoning", text: "Hm." },
      { type: "text", text: "Done." },
    ]);
    expect(back).toEqual([{ role: "assistant", content: "Done." }]);
  });

  test("what the server has compacted goes back at its place, so that it is not compacted and paid for again", async () => {
    const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "ENC" };
    const { back, message } = await roundTrip([textItem("It rains."), compaction]);
    expect(back).toEqual([{ role: "assistant", content: "It rains." }, compaction]);
    expect(message.content).toMatchObject([
      { type: "text", text: "It rains." },
      { type: "reasoning", text: "" },
    ]);
  });

  test("and remarks on the way to an answer stay what they were", async () => {
    const { message, back } = await roundTrip([
      textItem("I look.", { phase: "commentary" }),
      textItem("It rains.", { phase: "final_answer" }),
    ]);
    expect(back).toEqual([
      { role: "assistant", content: "I look.", phase: "commentary" },
      { role: "assistant", content: "It rains.", phase: "final_answer" },
    ]);
    expect((message.content as readonly ContentPart[]).map((part) => part.type)).toEqual([
      "reasoning",
      "text",
      "reasoning",
      "text",
    ]);
  });

  test("R19: of another provider is left out with notice, whatever its data is", async () => {
    const { logger, said } = listener();
    const message: AssistantMessage = {
      role: "assistant",
      content: [
        { type: "reasoning", text: "thought", opaque: { provider: "anthropic", data: "signature" } },
        { type: "reasoning", text: "thought" },
        { type: "reasoning", text: "thought", opaque: { provider: "openai", data: "{broken" } },
        { type: "reasoning", text: "thought", opaque: { provider: "openai", data: "null" } },
        { type: "reasoning", text: "thought", opaque: { provider: "openai", data: '{"encrypted":3}' } },
        { type: "text", text: "Done." },
      ],
    };
    expect(await inputOf([message], { logger })).toEqual([{ role: "assistant", content: "Done." }]);
    expect(said).toEqual(["openai/test-model: reasoning of another provider is left out"]);
  });

  test("R19: that another account has sealed is left out after one refusal, and only that", async () => {
    const { logger, said } = listener();
    await using server = await loopbackOpenAI({
      script: () => ({ text: "ok", reasoning: "Hm." }),
    });
    const model = client(server, { api: "responses", logger });
    const foreign: AssistantMessage = {
      role: "assistant",
      content: [
        {
          type: "reasoning",
          text: "",
          opaque: { provider: "openai", data: '{"id":"rs0","encrypted":"elsewhere"}' },
        },
        { type: "text", text: "so far" },
      ],
    };
    const first = await model.generate({ messages: [foreign, ...HELLO.messages] });
    expect(server.requests).toHaveLength(2);
    await model.generate({ messages: [foreign, ...HELLO.messages, first.message, ...HELLO.messages] });
    expect(server.requests).toHaveLength(3);
    const items = server.requests[2]?.body as { input: { type?: string }[] } | undefined;
    expect(items?.input.filter((item) => item.type === "reasoning")).toHaveLength(1);
    expect(server.bill().calls).toBe(2);
    expect(said).toHaveLength(1);
  });

  test.each([
    [400, "The encrypted content gAAA...c90= could not be verified.", "invalid_encrypted_content"],
    [400, "encrypted reasoning was created for a different account or model", ""],
    [400, "Upstream request failed: reasoning `encrypted_content` was not issued to this caller", ""],
    [400, "Item 'rs_0' of type 'reasoning' was provided without its required following item.", null],
    [404, "Item with id 'rs_0' not found. Items are not persisted when `store` is set to false.", null],
  ])("R19: that a server cannot read (%i) is left out after one refusal", async (status, message, code) => {
    await using server = await rawServer((response, _, index) => {
      const { input } = server.bodies[index] as { input: { type?: string }[] };
      const refused = input.some((item) => item.type === "reasoning");
      response.writeHead(refused ? status : 200, { "content-type": "application/json" });
      response.end(refused ? JSON.stringify({ error: { message, code, param: "input" } }) : OK);
    });
    const data = '{"id":"rs_0","encrypted":"elsewhere"}';
    const said: AssistantMessage = {
      role: "assistant",
      content: [
        { type: "reasoning", text: "", opaque: { provider: "openai", data } },
        { type: "text", text: "so far" },
      ],
    };
    const model = client(server, { api: "responses" });
    for (let n = 0; n < 2; n++) await model.generate({ messages: [said] });
    expect(server.bodies).toHaveLength(3);
  });

  test("R19: what another account has compacted is left out after one refusal", async () => {
    const error = {
      message: "The encrypted content could not be verified.",
      code: "invalid_encrypted_content",
    };
    await using server = await rawServer((response, _, index) => {
      const { input } = server.bodies[index] as { input: { type?: string }[] };
      const refused = input.some((item) => item.type === "compaction");
      response.writeHead(refused ? 400 : 200, { "content-type": "application/json" });
      response.end(refused ? JSON.stringify({ error }) : OK);
    });
    const data = '{"id":"cmp_0","encrypted":"elsewhere","compacted":true}';
    const content: ContentPart[] = [
      { type: "reasoning", text: "", opaque: { provider: "openai", data } },
      { type: "text", text: "so far" },
    ];
    const model = client(server, { api: "responses" });
    for (let n = 0; n < 2; n++) await model.generate({ messages: [{ role: "assistant", content }] });
    expect(server.bodies).toHaveLength(3);
  });

  test("R19: what was compacted stays if only reasoning is refused", async () => {
    const message = "Item 'rs_0' of type 'reasoning' was provided without its required following item.";
    await using server = await rawServer((response, _, index) => {
      response.writeHead(index === 0 ? 400 : 200, { "content-type": "application/json" });
      response.end(index === 0 ? JSON.stringify({ error: { message } }) : OK);
    });
    const kept = (data: object): ContentPart => ({
      type: "reasoning",
      text: "",
      opaque: { provider: "openai", data: JSON.stringify(data) },
    });
    const content: ContentPart[] = [
      kept({ encrypted: "summary", compacted: true }),
      kept({ id: "rs_0", encrypted: "thought" }),
      { type: "text", text: "so far" },
    ];
    const messages: ChatMessage[] = [{ role: "assistant", content }, ...HELLO.messages];
    await client(server, { api: "responses" }).generate({ messages });
    expect(server.bodies[1]?.["input"]).toMatchObject([
      { type: "compaction" },
      { role: "assistant" },
      { role: "user" },
    ]);
  });

  test("R19: is left out for good where the model does not reason", async () => {
    await using server = await rawServer((response, _, index) => {
      const { input } = server.bodies[index] as { input: { type?: string }[] };
      const refused = input.some((item) => item.type === "reasoning");
      response.writeHead(refused ? 400 : 200, { "content-type": "application/json" });
      const message =
        "Reasoning input items can only be provided to a reasoning or computer use model. Remove reasoning items from your input and try again.";
      response.end(refused ? JSON.stringify({ error: { message, param: "input" } }) : OK);
    });
    const model = client(server, { api: "responses" });
    const said = (encrypted: string): AssistantMessage => ({
      role: "assistant",
      content: [
        { type: "reasoning", text: "", opaque: { provider: "openai", data: JSON.stringify({ encrypted }) } },
        { type: "text", text: "so far" },
      ],
    });
    await model.generate({ messages: [said("one")] });
    await model.generate({ messages: [said("one"), said("two")] });
    expect(server.bodies).toHaveLength(3);
  });

  test("R19: that led to nothing does not go back: it is refused without what should follow it", async () => {
    const { message, back } = await roundTrip([
      textItem("I look."),
      reasoning("rs1", "Hm.", { encrypted_content: "sealed-1" }),
    ]);
    expect(message.content).toHaveLength(2);
    expect(back).toEqual([{ role: "assistant", content: "I look." }]);
  });

  test("and a conversation moves from one API to the other and back", async () => {
    await using server = await loopbackOpenAI({
      script: [
        { reasoning: "Hm.", toolCalls: [{ name: "f", id: "call_0" }] },
        { toolCalls: [{ name: "f", id: "call_0" }] },
        "Done.",
      ],
    });
    const messages: ChatMessage[] = [...HELLO.messages];
    for (const api of ["responses", "chat", "responses"] as const) {
      const { message } = await client(server, { api }).generate({ messages });
      messages.push(message);
      for (const { id, name } of message.toolCalls ?? [])
        messages.push({ role: "tool", toolCallId: id, name, content: "fine" });
    }
    expect(messages.at(-1)).toEqual({ role: "assistant", content: "Done." });
  });
});
