import type { ChatMessage } from "@ravi/kernel";
import { loopbackOpenAI } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { APIS, client, rawServer, type RawServer, SPOKEN } from "./support.ts";

/** A tool message of Chat Completions can only be text, so the images of tools are sent after them. */

const image = (data: string) => ({ type: "image", url: `data:image/png;base64,${data}` }) as const;
const sentImage = (data: string) => ({ type: "image_url", image_url: { url: image(data).url } });
const text = (said: string) => ({ type: "text", text: said }) as const;

const LOOK: readonly ChatMessage[] = [
  { role: "user", content: [text("Compare these."), image("USER")] },
  {
    role: "assistant",
    content: "",
    toolCalls: ["a", "b", "c"].map((id) => ({ id, name: id === "c" ? "read" : "look", arguments: "{}" })),
  },
  { role: "tool", toolCallId: "a", name: "look", content: [text("the screen: "), image("AAAA")] },
  { role: "tool", toolCallId: "b", name: "look", content: [image("BBBB"), image("CCCC")] },
  { role: "tool", toolCallId: "c", name: "read", content: "words" },
];

const FROM_TOOLS = [
  text("[image 1, returned by look]"),
  sentImage("AAAA"),
  text("[image 2, returned by look]"),
  sentImage("BBBB"),
  text("[image 3, returned by look]"),
  sentImage("CCCC"),
];

const messagesOf = (body: Record<string, unknown> | undefined): readonly unknown[] =>
  Array.isArray(body?.["messages"]) ? body["messages"] : [];

const JSON_TYPE = { "content-type": "application/json" };
const OK = { choices: [{ message: { content: "Alike." }, finish_reason: "stop" }] };

/** Refuses every request that `isRefused` recognises. */
function refusing(
  isRefused: (messages: readonly unknown[]) => boolean,
  [status, message]: readonly [number, string],
): Promise<RawServer> {
  const server = rawServer((response, _, index) => {
    void server.then(({ bodies }) => {
      if (isRefused(messagesOf(bodies[index])))
        response.writeHead(status, JSON_TYPE).end(JSON.stringify({ error: { message } }));
      else response.writeHead(200, JSON_TYPE).end(JSON.stringify(OK));
    });
  });
  return server;
}

test("they reach the server in one user message, after all tool messages of their turn, and say whose they are", async () => {
  await using server = await loopbackOpenAI({ script: ["Alike.", "Yes."] });
  const model = client(server, { api: "chat" });
  await model.generate({ messages: LOOK });
  const seen = server.requests[0]?.body as Record<string, unknown>;
  expect(messagesOf(seen).slice(2)).toEqual([
    { role: "tool", tool_call_id: "a", content: "the screen: [image 1 follows]" },
    { role: "tool", tool_call_id: "b", content: "[image 2 follows][image 3 follows]" },
    { role: "tool", tool_call_id: "c", content: "words" },
    { role: "user", content: FROM_TOOLS },
  ]);
  // What was sent before stays as it was, so that a prompt cache finds it.
  await model.generate({
    messages: [...LOOK, { role: "assistant", content: "Alike." }, { role: "user", content: "Sure?" }],
  });
  const later = server.requests[1]?.body as Record<string, unknown>;
  expect(messagesOf(later)).toEqual([
    ...messagesOf(seen),
    { role: "assistant", content: "Alike." },
    { role: "user", content: "Sure?" },
  ]);
});

test("an image that is a file is sent too; other files, and an image at no URL, are left out with a note", async () => {
  await using server = await loopbackOpenAI({ script: ["Seen."] });
  const content = [
    { type: "file", url: image("AAAA").url, mediaType: "image/png", name: "a.png" },
    { type: "file", url: "data:application/pdf;base64,AAAA", mediaType: "application/pdf", name: "a.pdf" },
    { type: "image", url: "./b.png" },
  ] as const;
  const messages: ChatMessage[] = [
    { role: "user", content: "Look." },
    { role: "assistant", content: "", toolCalls: [{ id: "a", name: "look", arguments: "{}" }] },
    { role: "tool", toolCallId: "a", name: "look", content },
  ];
  await client(server, { api: "chat" }).generate({ messages });
  expect(messagesOf(server.requests[0]?.body as Record<string, unknown>).slice(2)).toEqual([
    {
      role: "tool",
      tool_call_id: "a",
      content:
        "[image 1 follows][the file a.pdf was left out: only text can be sent here][an image was left out: it has no valid URL]",
    },
    { role: "user", content: FROM_TOOLS.slice(0, 2) },
  ]);
});

describe("a model that takes no images", () => {
  const withImages = (messages: readonly unknown[]): boolean =>
    JSON.stringify(messages).includes("image_url");
  const NOTE = text("[an image was left out: this model takes no images]");

  test.each<[string, number, string]>([
    ["OpenAI", 400, "Invalid content type. image_url is only supported by certain models."],
    ["DeepSeek", 400, "messages[4]: unknown variant `image_url`, expected `text` at line 1 column 90"],
    ["OpenRouter", 404, "No endpoints found that support image input"],
    ["Ollama", 400, "this model does not support image input"],
    ["vLLM", 400, "test-model is not a multimodal model"],
    ["llama.cpp", 500, "image input is not supported - hint: you may need to provide the mmproj"],
    ["xAI", 400, "Image inputs are not supported by this model."],
    ["Groq", 400, "'messages.4' : for 'role:user' ('messages.4.content' : value must be a string)"],
  ])("is told that they were left out, as before (%s)", async (_, status, message) => {
    await using server = await refusing(withImages, [status, message]);
    const model = client(server, { api: "chat" });
    const messages = [{ role: "user", content: "Look." } as const, ...LOOK.slice(1)];
    await model.generate({ messages });
    await model.generate({ messages });
    const told = {
      role: "user",
      content: FROM_TOOLS.map((part) => (part.type === "text" ? part : NOTE)),
    };
    expect(server.bodies.map((body) => messagesOf(body).at(-1))).toEqual([
      { role: "user", content: FROM_TOOLS },
      told,
      told,
    ]);
  });

  test("refuses an image of the user's, which is not left out behind his back", async () => {
    await using server = await refusing(withImages, [400, "this model does not support image input"]);
    const model = client(server, { api: "chat" });
    await expect(model.generate({ messages: LOOK })).rejects.toMatchObject({ status: 400 });
    expect(JSON.stringify(server.bodies[1])).toContain("USER");
  });

  test.each([
    "You uploaded an unsupported image. Please make sure your image has one of the following formats: png",
    "Image media type not supported: image/bmp",
    "Failed to download image, which is not supported",
  ])("is not one that cannot read this one: %s", async (message) => {
    await using server = await refusing(withImages, [400, message]);
    await expect(client(server, { api: "chat" }).generate({ messages: LOOK })).rejects.toMatchObject({
      status: 400,
    });
    // Nor is the model told that it takes none.
    expect(JSON.stringify(server.bodies)).not.toContain("takes no images");
  });
});

describe.each(APIS)("an image that the server cannot read, over %s", (api) => {
  const LATER: readonly ChatMessage[] = [
    { role: "assistant", content: "", toolCalls: [{ id: "d", name: "look", arguments: "{}" }] },
    { role: "tool", toolCallId: "d", name: "look", content: [image("LATER")] },
  ];
  test.each([
    ["The image data you provided does not represent a valid image. Please check your input.", null],
    [
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: png.",
      null,
    ],
    ["something else", "image_parse_error"],
  ])("is left out with those that tools returned, and later ones are not: %s", async (message, code) => {
    await using server = await rawServer((response, _, index) => {
      const isRefused = JSON.stringify(server.bodies[index]).includes("CCCC");
      response.writeHead(isRefused ? 400 : 200, JSON_TYPE);
      response.end(isRefused ? JSON.stringify({ error: { message, code } }) : SPOKEN[api].whole("ok"));
    });
    const model = client(server, { api });
    await model.generate({ messages: LOOK });
    await model.generate({ messages: [...LOOK, ...LATER] });
    expect(server.bodies).toHaveLength(3);
    const sent = JSON.stringify(server.bodies[2]);
    const all = ["USER", "AAAA", "BBBB", "CCCC", "LATER", "it cannot be read"];
    expect(all.filter((each) => sent.includes(each))).toEqual(["USER", "LATER", "it cannot be read"]);
  });

  test("is not left out if it is the user's", async () => {
    await using server = await rawServer((response) => {
      response.writeHead(400, JSON_TYPE);
      response.end(
        JSON.stringify({
          error: { message: "The image data you provided does not represent a valid image." },
        }),
      );
    });
    await expect(client(server, { api }).generate({ messages: LOOK.slice(0, 1) })).rejects.toMatchObject({
      status: 400,
    });
    expect(server.bodies).toHaveLength(1);
  });
});

test("Mistral gets an assistant's message between a tool's result and what a user says, from then on", async () => {
  const isRefused = (messages: readonly unknown[]): boolean =>
    messages.some((message, at) => roleOf(message) === "user" && roleOf(messages[at - 1]) === "tool");
  await using server = await refusing(isRefused, [400, "Unexpected role 'user' after role 'tool'"]);
  const model = client(server, { api: "chat" });
  const said: ChatMessage[] = [
    ...LOOK.slice(0, 2),
    ...LOOK.slice(-1),
    { role: "user", content: "Be brief." },
  ];
  await model.generate({ messages: LOOK });
  await model.generate({ messages: said });
  const between = { role: "assistant", content: "I have read the results." };
  expect(server.bodies).toHaveLength(3);
  expect(messagesOf(server.bodies[1]).slice(-2)).toEqual([between, { role: "user", content: FROM_TOOLS }]);
  expect(messagesOf(server.bodies[2]).slice(-2)).toEqual([between, { role: "user", content: "Be brief." }]);
});

function roleOf(message: unknown): unknown {
  return typeof message === "object" && message !== null && "role" in message ? message.role : undefined;
}
