import type { ChatMessage, LLMClient, ModelResponse } from "@ravi/kernel";
import { field, listOf } from "@ravi/kernel/provider";
import { describe, expect, test } from "vitest";
import { chunk, client, DONE, HELLO, rawServer, type RawServer, streamed } from "./support.ts";

/** What a server answered, and what it is sent back in the second turn. */

const CALL = { id: "call_a", type: "function", function: { name: "weather", arguments: "{}" } };

/** A server that answers with a message first, in one piece or in several, and then with what the test says. */
function answering(
  message: object,
  deltas: readonly object[] = [message],
  later: (index: number) => { readonly status: number; readonly body: object } = () => OK,
): Promise<RawServer> {
  return rawServer((response, request, index) => {
    if (index > 0) {
      const { status, body } = later(index);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      return;
    }
    if (request.headers["x-how"] === "stream") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(deltas.map((delta) => chunk(delta)).join("") + chunk({}, "tool_calls") + DONE);
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ choices: [{ message, finish_reason: "tool_calls" }] }));
  });
}

const OK = {
  status: 200,
  body: { choices: [{ message: { content: "It rains." }, finish_reason: "stop" }] },
};

const refused = (message: string) => ({ status: 400, body: { error: { message } } });

type How = "generate" | "stream";
const WAYS: readonly How[] = ["generate", "stream"];

const clientFor = (server: RawServer, how: How): LLMClient => client(server, { headers: { "x-how": how } });

async function firstAnswer(model: LLMClient, how: How): Promise<ModelResponse> {
  return how === "stream" ? (await streamed(model)).response : model.generate(HELLO);
}

function continued({ message }: ModelResponse): readonly ChatMessage[] {
  const results = (message.toolCalls ?? []).map(({ id, name }): ChatMessage => ({
    role: "tool",
    toolCallId: id,
    name,
    content: "rain",
  }));
  return [...HELLO.messages, message, ...results];
}

const sentBack = (server: RawServer, request = 1): unknown => {
  const { messages } = server.bodies[request] ?? {};
  return Array.isArray(messages) ? messages[1] : undefined;
};

test.each(WAYS)("DeepSeek gets its reasoning back in the field that it came in (%s)", async (how) => {
  await using server = await answering({ reasoning_content: "Oslo it is.", tool_calls: [CALL] }, [
    { reasoning_content: "Oslo " },
    { reasoning_content: "it is." },
    { tool_calls: [{ index: 0, ...CALL }] },
  ]);
  const model = clientFor(server, how);
  await model.generate({ messages: continued(await firstAnswer(model, how)) });
  expect(sentBack(server)).toEqual({
    role: "assistant",
    content: null,
    reasoning_content: "Oslo it is.",
    tool_calls: [CALL],
  });
});

test.each(WAYS)("Gemini gets the signature of its calls back (%s)", async (how) => {
  const signed = { ...CALL, extra_content: { google: { thought_signature: "c2lnbmVk" } } };
  await using server = await answering({ tool_calls: [signed] }, [{ tool_calls: [{ index: 0, ...signed }] }]);
  const model = clientFor(server, how);
  await model.generate({ messages: continued(await firstAnswer(model, how)) });
  expect(sentBack(server)).toEqual({ role: "assistant", content: null, tool_calls: [signed] });
});

test.each(WAYS)("OpenRouter gets sealed and signed reasoning back, put together (%s)", async (how) => {
  const head = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 };
  const sealed = { type: "reasoning.encrypted", data: "c2VhbGVk", id: "r2", index: 1 };
  const details = [{ ...head, text: "Oslo it is.", signature: "c2ln" }, sealed];
  await using server = await answering(
    { reasoning: "Oslo it is.", reasoning_details: details, tool_calls: [CALL] },
    [
      { reasoning: "Oslo ", reasoning_details: [{ ...head, text: "Oslo " }] },
      { reasoning: "it is.", reasoning_details: [{ ...head, text: "it is." }] },
      { reasoning_details: [{ ...head, signature: "c2ln" }] },
      { reasoning_details: [sealed], tool_calls: [{ index: 0, ...CALL }] },
    ],
  );
  const model = clientFor(server, how);
  const first = await firstAnswer(model, how);
  await model.generate({ messages: continued(first) });
  expect(sentBack(server)).toEqual({
    role: "assistant",
    content: null,
    reasoning_details: details,
    tool_calls: [CALL],
  });
  expect(JSON.stringify(first).split("Oslo it is.")).toHaveLength(2);
});

test("reasoning that was changed, as by a redaction, does not go back under the signature of what it was", async () => {
  const detail = { type: "reasoning.text", text: "Oslo it is.", signature: "c2ln", index: 0 };
  await using server = await answering({
    reasoning: "Oslo it is.",
    reasoning_details: [detail],
    tool_calls: [CALL],
  });
  const model = client(server);
  const messages = continued(await model.generate(HELLO));
  const edited = JSON.stringify(messages).replaceAll("Oslo it is.", "[CITY] it is.");
  await model.generate({ messages: JSON.parse(edited) as ChatMessage[] });
  expect(sentBack(server)).toEqual({ role: "assistant", content: null, tool_calls: [CALL] });
});

test("neither OpenAI itself nor another provider gets what a server wants back", async () => {
  const signed = { ...CALL, extra_content: { google: { thought_signature: "c2lnbmVk" } } };
  await using server = await answering({ reasoning_content: "Oslo.", tool_calls: [signed] });
  const messages = continued(await client(server).generate(HELLO));
  const plain = { role: "assistant", content: null, tool_calls: [CALL] };
  await client(server, { provider: "other" }).generate({ messages });
  expect(sentBack(server)).toEqual(plain);
  const bodies: unknown[] = [];
  const own = client(server, {
    api: "chat",
    baseURL: "https://api.openai.com/v1",
    fetch: async (_, init) => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json(OK.body);
    },
  });
  await own.generate({ messages });
  expect(bodies).toEqual([expect.objectContaining({ messages: expect.arrayContaining([plain]) })]);
});

test.each([
  [
    404,
    "Your request contains encrypted reasoning or compaction content that was produced under a different model. Encrypted payloads can only be replayed to the endpoint that created them.",
  ],
  [400, "messages.1.content.0: Invalid `signature` in `thinking` block"],
])(
  "reasoning that another model has sealed is left out; that of the model itself stays (%i)",
  async (status, message) => {
    const detail = (data: string) => [{ type: "reasoning.encrypted", data, index: 0 }];
    const thought = (data: string) => ({ reasoning_details: detail(data), tool_calls: [CALL] });
    await using other = await answering(thought("other"));
    await using server = await rawServer((response, _, index) => {
      const isRefused = JSON.stringify(server.bodies[index]).includes('"other"');
      const error = { error: { message, code: status } };
      response.writeHead(isRefused ? status : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? error : { choices: [{ message: thought("own") }] }));
    });
    const messages = [...continued(await client(other).generate(HELLO))];
    const model = client(server);
    for (let n = 0; n < 2; n++) messages.push(...continued(await model.generate({ messages })).slice(1));
    const sent = server.bodies.map(
      (body) =>
        JSON.stringify(body)
          .match(/"(?:other|own)"/g)
          ?.join() ?? "",
    );
    expect(sent).toEqual(['"other"', "", '"own"']);
  },
);

test("a client learns about new conversations, however many it has learned about", async () => {
  await using server = await rawServer((response, _, index) => {
    const isRefused = JSON.stringify(server.bodies[index]).includes("reasoning_details");
    const error = { error: { message: "encrypted reasoning was created for a different account or model" } };
    response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isRefused ? error : OK.body));
  });
  const model = client(server);
  const talk = (n: number): ChatMessage[] => {
    const data = JSON.stringify({
      details: [{ type: "reasoning.encrypted", data: `${n}${"x".repeat(300)}` }],
    });
    const thought = { type: "reasoning" as const, text: "", opaque: { provider: "openai", data } };
    return [...HELLO.messages, { role: "assistant", content: [thought, { type: "text", text: "hi" }] }];
  };
  for (let n = 0; n < 101; n++) await model.generate({ messages: talk(n) });
  const before = server.bodies.length;
  for (let n = 0; n < 2; n++) await model.generate({ messages: talk(101) });
  expect(server.bodies.length - before).toBe(3);
});

test("Gemini gets calls of other models marked, and its own with their signatures", async () => {
  const signature = (text: string) => ({ google: { thought_signature: text } });
  const own = { tool_calls: [{ ...CALL, extra_content: signature("own") }, CALL] };
  await using server = await rawServer((response, _, index) => {
    const firsts = listOf(server.bodies[index]?.["messages"]).flatMap(
      (each) => listOf(field(each, "tool_calls"))[0] ?? [],
    );
    const isRefused = !firsts.every((call) => field(call, "extra_content") !== undefined);
    const error = [
      {
        error: {
          code: 400,
          message: "Function call is missing a thought_signature in functionCall parts.",
          status: "INVALID_ARGUMENT",
        },
      },
    ];
    response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isRefused ? error : { choices: [{ message: own }] }));
  });
  const call = { id: "a", name: "f", arguments: "{}" };
  const messages: ChatMessage[] = [
    ...HELLO.messages,
    { role: "assistant", content: "", toolCalls: [call, { ...call, id: "b" }] },
    ...["a", "b"].map((toolCallId): ChatMessage => ({ role: "tool", toolCallId, name: "f", content: "1" })),
  ];
  const model = client(server);
  messages.push(...continued(await model.generate({ messages })).slice(1));
  await model.generate({ messages });
  expect(server.bodies).toHaveLength(3);
  const calls = listOf(server.bodies[2]?.["messages"]).map((each) => listOf(field(each, "tool_calls")));
  expect(calls.flat().map((each) => field(each, "extra_content"))).toEqual([
    signature("skip_thought_signature_validator"),
    undefined,
    signature("own"),
    undefined,
  ]);
});

test("reasoning that a server does not take back is left out from then on", async () => {
  await using server = await answering({ reasoning: "Oslo.", tool_calls: [CALL] }, [], (index) =>
    index === 1 ? refused("'messages.1': property 'reasoning' is unsupported") : OK,
  );
  const model = client(server);
  const messages = continued(await model.generate(HELLO));
  await model.generate({ messages });
  await model.generate({ messages });
  const plain = { role: "assistant", content: null, tool_calls: [CALL] };
  expect(sentBack(server, 1)).toEqual({ ...plain, reasoning: "Oslo." });
  expect([2, 3].map((request) => sentBack(server, request))).toEqual([plain, plain]);
});

test("where a server misses the reasoning of another model, it is told that there was none", async () => {
  await using server = await answering({ tool_calls: [CALL] }, [], (index) =>
    index === 1
      ? refused("The `reasoning_content` in the thinking mode must be passed back to the API.")
      : OK,
  );
  const model = client(server);
  const messages = continued(await model.generate(HELLO));
  await model.generate({ messages });
  await model.generate({ messages });
  const told = { role: "assistant", content: null, tool_calls: [CALL], reasoning_content: "" };
  expect([2, 3].map((request) => sentBack(server, request))).toEqual([told, told]);
});

test("a server that takes no names of speakers is told them in the text", async () => {
  const detail = { type: "extra_forbidden", loc: ["body", "messages", 0, "user", "name"] };
  const body = {
    object: "error",
    message: { detail: [{ ...detail, msg: "Extra inputs are not permitted" }] },
  };
  await using server = await rawServer((response, _, index) => {
    const sent = index === 0 ? { status: 422, body } : OK;
    response.writeHead(sent.status, { "content-type": "application/json" }).end(JSON.stringify(sent.body));
  });
  const model = client(server);
  const messages: ChatMessage[] = [
    { role: "user", name: "ada", content: "hello" },
    { role: "user", name: "bob", content: [{ type: "text", text: "hi" }] },
  ];
  await model.generate({ messages });
  await model.generate({ messages });
  const told = [
    { role: "user", content: "ada: hello" },
    {
      role: "user",
      content: [
        { type: "text", text: "bob:" },
        { type: "text", text: "hi" },
      ],
    },
  ];
  expect(server.bodies.slice(1).map((sent) => sent["messages"])).toEqual([told, told]);
});

test("a name that has no place of its own is said in the text, and is not lost", async () => {
  await using server = await rawServer((response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(OK.body));
  });
  await client(server).generate({ messages: [{ role: "user", name: "Ada Lovelace", content: "hello" }] });
  expect(server.bodies[0]?.["messages"]).toEqual([{ role: "user", content: "Ada Lovelace: hello" }]);
});

test.each([
  ["none", "", "{}"],
  ["broken", '{"city": "Os', '{"unreadable_arguments":"{\\"city\\": \\"Os"}'],
  ["no object", "[1]", '{"unreadable_arguments":"[1]"}'],
  ["as the model wrote them", '{ "city":"Oslo" }', '{ "city":"Oslo" }'],
])("arguments that are %s make no conversation unsendable", async (_, text, sent) => {
  await using server = await rawServer((response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(OK.body));
  });
  const message: ChatMessage = {
    role: "assistant",
    content: "",
    toolCalls: [{ id: "call_a", name: "weather", arguments: text }],
  };
  const request = { messages: [...HELLO.messages, message] };
  await client(server).generate(request);
  const fn = { name: "weather", arguments: sent };
  expect(sentBack(server, 0)).toMatchObject({ tool_calls: [{ function: fn }] });
  // OpenAI itself takes them as they are.
  const bodies: string[] = [];
  const fetch = async (_input: unknown, init: RequestInit | undefined): Promise<Response> => {
    bodies.push(String(init?.body));
    return Response.json(OK.body);
  };
  await client(server, { api: "chat", baseURL: "https://api.openai.com/v1", fetch }).generate(request);
  expect(bodies[0]).toContain(JSON.stringify(text));
});

test("a turn in which nothing was said is not sent, nor an image that is at no URL", async () => {
  await using server = await rawServer((response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(OK.body));
  });
  await client(server).generate({
    messages: [
      { role: "user", content: [{ type: "image", url: "./picture.png" }] },
      { role: "assistant", content: [{ type: "reasoning", text: "cut off" }] },
      { role: "user", content: "go on" },
    ],
  });
  expect(server.bodies[0]?.["messages"]).toEqual([
    { role: "user", content: [{ type: "text", text: "[an image was left out: it has no valid URL]" }] },
    { role: "user", content: "go on" },
  ]);
});

test("DeepSeek, which has no structured output, is asked for the shape in words", async () => {
  await using server = await rawServer((response, _, index) => {
    const sent = index === 0 ? refused("This response_format type is unavailable now") : OK;
    response.writeHead(sent.status, { "content-type": "application/json" }).end(JSON.stringify(sent.body));
  });
  const schema = { type: "object", properties: {} };
  await client(server).generate({ ...HELLO, output: { name: "answer", schema } });
  expect(server.bodies[1]).not.toHaveProperty("response_format");
});

test("Mistral gets ids of nine letters and digits, the same for a call and its result", async () => {
  const message = "Tool call id was call_a but must be a-z, A-Z, 0-9, with a length of 9.";
  await using server = await answering({ tool_calls: [CALL, { ...CALL, id: "abcDEF123" }] }, [], (index) =>
    index === 1 ? refused(message) : OK,
  );
  const model = client(server);
  const messages = continued(await model.generate(HELLO));
  await model.generate({ messages });
  await model.generate({ messages });
  const idsIn = (body: unknown): unknown => {
    const [, assistant, ...results] = listOf(field(body, "messages"));
    const calls = listOf(field(assistant, "tool_calls")).map((call) => field(call, "id"));
    return [calls, results.map((result) => field(result, "tool_call_id"))];
  };
  const ids = [expect.stringMatching(/^[a-z\d]{9}$/), "abcDEF123"];
  expect(server.bodies.slice(2).map(idsIn)).toEqual([
    [ids, ids],
    [ids, ids],
  ]);
  const [calls, results] = listOf(idsIn(server.bodies[2]));
  expect(calls).toEqual(results);
});

test("a gateway to Anthropic gets ids of plain letters, the same for a call and its result", async () => {
  // Of @portkey-ai/gateway 1.15.2.
  const message =
    "anthropic error: messages.1.content.2.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
  await using server = await answering({ tool_calls: [CALL, { ...CALL, id: "call|é#1" }] }, [], (index) =>
    index === 1 ? refused(message) : OK,
  );
  const model = client(server);
  await model.generate({ messages: continued(await model.generate(HELLO)) });
  const [user, assistant, ...results] = listOf(field(server.bodies[2], "messages"));
  expect(user).toEqual(HELLO.messages[0]);
  const calls = listOf(field(assistant, "tool_calls")).map((call) => field(call, "id"));
  expect(calls).toEqual([CALL.id, expect.stringMatching(/^[\w-]{1,40}$/)]);
  expect(results.map((result) => field(result, "tool_call_id"))).toEqual(calls);
});

test("a conversation whose ids are plain already is not sent again, whatever a gateway says of them", async () => {
  const message = "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
  await using server = await answering({ tool_calls: [CALL] }, [], () => refused(message));
  const model = client(server);
  const messages = continued(await model.generate(HELLO));
  await expect(model.generate({ messages })).rejects.toMatchObject({ kind: "FORMAT_ERROR" });
  expect(server.bodies).toHaveLength(2);
});

test("a server that takes one temperature alone gets none", async () => {
  await using server = await rawServer((response, _, index) => {
    const sent = index === 0 ? refused("invalid temperature: only 1 is allowed for this model") : OK;
    response.writeHead(sent.status, { "content-type": "application/json" }).end(JSON.stringify(sent.body));
  });
  await client(server).generate({ ...HELLO, temperature: 0.7 });
  expect(server.bodies[1]).not.toHaveProperty("temperature");
});

test.each([
  "litellm.UnsupportedParamsError: Anthropic doesn't support tool calling without `tools=` param specified.",
  "Requests which have `tool_use` or `tool_result` blocks in messages must define tools.",
  "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
])(
  "an agent's last call, which has no tools, is made through gateways that demand them: %s",
  async (message) => {
    await using server = await rawServer((response, _, index) => {
      const isRefused = server.bodies[index]?.["tools"] === undefined;
      response.writeHead(isRefused ? 400 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused ? { error: { message } } : OK.body));
    });
    const model = client(server);
    const calls = ["a", "b"].map((id) => ({ id, name: "weather", arguments: "{}" }));
    const messages: ChatMessage[] = [
      ...HELLO.messages,
      { role: "assistant", content: "", toolCalls: calls },
      ...calls.map(({ id, name }): ChatMessage => ({ role: "tool", toolCallId: id, name, content: "rain" })),
    ];
    for (let n = 0; n < 2; n++) await model.generate({ messages });
    const described = { description: "No longer available.", parameters: { type: "object", properties: {} } };
    const tools = [{ type: "function", function: { name: "weather", ...described } }];
    expect(server.bodies.map((body) => body["tools"])).toEqual([undefined, tools, tools]);
    // Without calls there is nothing to define, so nothing is sent again.
    for (const each of [model, client(server)])
      await expect(each.generate(HELLO)).rejects.toMatchObject({ status: 400 });
    expect(server.bodies).toHaveLength(5);
  },
);

describe("a template that takes only some orders of messages", () => {
  const TALK: readonly ChatMessage[] = [
    { role: "system", content: "You are brief." },
    { role: "system", content: "You are kind." },
    { role: "user", content: "one", name: "ann" },
    { role: "user", content: [{ type: "text", text: "two" }] },
    { role: "assistant", content: "", toolCalls: [{ id: "a", name: "f", arguments: "{}" }] },
    { role: "tool", toolCallId: "a", name: "f", content: "done" },
    { role: "assistant", content: "three" },
    { role: "assistant", content: "four" },
    { role: "system", content: "Hurry." },
    { role: "user", content: "five" },
  ];
  const kind = { role: "user", content: "<system>\nYou are kind.\n</system>" };
  const hurry = { role: "user", content: "<system>\nHurry.\n</system>" };
  const sentTo = async (
    status: number,
    message: string,
    isRefused: (roles: readonly unknown[]) => boolean,
  ): Promise<readonly unknown[]> => {
    await using server = await rawServer((response, _, index) => {
      const roles = listOf(server.bodies[index]?.["messages"]).map((each) => field(each, "role"));
      const error = { error: { code: status, message, type: "x" } };
      response.writeHead(isRefused(roles) ? status : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(isRefused(roles) ? error : OK.body));
    });
    const model = client(server);
    await model.generate({ messages: TALK });
    await model.generate({ messages: TALK });
    expect(server.bodies).toHaveLength(3);
    expect(server.bodies[2]).toEqual(server.bodies[1]);
    return listOf(server.bodies[1]?.["messages"]);
  };

  test.each([
    [400, "System message must be at the beginning."],
    [
      500,
      "While executing CallExpression ...\nError: Jinja Exception: System message must be at the beginning.",
    ],
  ])("Qwen's gets later notes of the system as a user's (%i)", async (status, message) => {
    const sent = await sentTo(status, message, (roles) => roles.lastIndexOf("system") > 0);
    expect(sent.map((each) => field(each, "role")).join()).toBe(
      "system,user,user,user,assistant,tool,assistant,assistant,user,user",
    );
    expect([sent[1], sent[8]]).toEqual([kind, hurry]);
  });

  test.each([
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "After the (optional) system message(s), user and assistant roles should be alternating.",
    "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
  ])("Gemma's, and Perplexity's, gets the messages of one side as one: %s", async (message) => {
    const sent = await sentTo(400, message, (roles) =>
      roles.some(
        (role, at) => role === "user" && ["user", "system"].includes(String(roles[at - 1])) && at > 1,
      ),
    );
    expect(sent).toEqual([
      { role: "system", content: "You are brief." },
      {
        role: "user",
        content: [
          { type: "text", text: `${kind.content}\n\nann: one` },
          { type: "text", text: "two" },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ ...CALL, id: "a", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: "done" },
      { role: "assistant", content: "three\n\nfour" },
      { role: "user", content: `${hurry.content}\n\nfive` },
    ]);
  });
});
