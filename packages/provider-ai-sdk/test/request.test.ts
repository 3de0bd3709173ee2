import type { ChatMessage, ContentPart } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { fromAiSdk } from "../src/index.ts";
import { ask, fixedModel, notingLogger } from "./support.ts";

const PNG = "data:image/png;base64,AAAA";
const VERSIONS = ["v2", "v3", "v4"] as const;

describe("R19: the options of a call", () => {
  test("hold what was given and nothing else", async () => {
    const model = fixedModel();
    await fromAiSdk(model).generate(ask("go"));
    expect(Object.keys(model.seen[0] ?? {}).toSorted()).toEqual(["abortSignal", "prompt"]);
  });

  test("hold settings, tools, the shape of the answer and the settings of the provider", async () => {
    const model = fixedModel();
    const parameters = { type: "object", properties: {} };
    const client = fromAiSdk(model, {
      headers: { "x-team": "blue" },
      providerOptions: { openai: { store: false, user: "ada" }, other: { a: 1 } },
    });
    await client.generate(
      ask("go", {
        temperature: 0,
        topP: 0.5,
        maxOutputTokens: 9,
        stop: ["END"],
        seed: 7,
        tools: [{ name: "search", description: "Looks it up.", parameters }],
        toolChoice: { name: "search" },
        output: { name: "answer", schema: parameters },
        reasoning: { effort: "low" },
        providerOptions: { openai: { user: "bob" } },
      }),
      { idempotencyKey: "run/é#1" },
    );
    const { abortSignal, prompt, ...rest } = model.seen[0] ?? { prompt: [] };
    expect(abortSignal).toBeInstanceOf(AbortSignal);
    expect(prompt).toEqual([{ role: "user", content: [{ type: "text", text: "go" }] }]);
    expect(rest).toEqual({
      temperature: 0,
      topP: 0.5,
      maxOutputTokens: 9,
      stopSequences: ["END"],
      seed: 7,
      tools: [{ type: "function", name: "search", description: "Looks it up.", inputSchema: parameters }],
      toolChoice: { type: "tool", toolName: "search" },
      responseFormat: { type: "json", name: "answer", schema: parameters },
      reasoning: "low",
      providerOptions: { openai: { store: false, user: "bob" }, other: { a: 1 } },
      headers: { "x-team": "blue", "idempotency-key": "run/%C3%A9#1" },
    });
  });

  test("leave the effort out, with notice, where the version has no word for it", async () => {
    for (const version of ["v2", "v3"] as const) {
      const logger = notingLogger();
      const model = fixedModel({ version, result: { content: [], finishReason: "stop", usage: {} } });
      await fromAiSdk(model, { logger }).generate(ask("go", { reasoning: { effort: "high" } }));
      expect(model.seen[0]).not.toHaveProperty("reasoning");
      expect(logger.notes[0]?.[0]).toMatch(/reasoning\.effort was left out/);
    }
  });
});

test("R19: the names of speakers are said in the text", async () => {
  const model = fixedModel();
  await fromAiSdk(model).generate({
    messages: [
      { role: "user", name: "ada", content: "hello" },
      { role: "user", name: "bob", content: [{ type: "text", text: "hi" }] },
    ],
  });
  expect(model.seen[0]?.prompt).toEqual([
    { role: "user", content: [{ type: "text", text: "ada: hello" }] },
    {
      role: "user",
      content: [
        { type: "text", text: "bob:" },
        { type: "text", text: "hi" },
      ],
    },
  ]);
});

test("R19: a blank text that a model has put before its calls is not sent back: Anthropic refuses it", async () => {
  const model = fixedModel();
  const call = { id: "c", name: "t", arguments: "{}" };
  await fromAiSdk(model).generate({
    messages: [
      ...ask("go").messages,
      { role: "assistant", content: "\n\n", toolCalls: [call] },
      { role: "tool", toolCallId: "c", name: "t", content: "done" },
      { role: "assistant", content: " " },
    ],
  });
  expect(model.seen[0]?.prompt.slice(1)).toEqual([
    { role: "assistant", content: [expect.objectContaining({ type: "tool-call" })] },
    expect.objectContaining({ role: "tool" }),
  ]);
});

test("R19: a summary of the reasoning, which no version has a word for, is left out with notice", async () => {
  const logger = notingLogger();
  await fromAiSdk(fixedModel(), { logger }).generate(ask("go", { reasoning: { summary: true } }));
  expect(logger.notes.map(([text]) => text)).toEqual([expect.stringContaining("reasoning.summary")]);
});

test("R19: calls of several turns with one id get ids of their own, and so do their results", async () => {
  const model = fixedModel();
  const turn = (result: string): ChatMessage[] => [
    { role: "assistant", content: "", toolCalls: [{ id: "call_0", name: "t", arguments: "{}" }] },
    { role: "tool", toolCallId: "call_0", name: "t", content: result },
  ];
  await fromAiSdk(model).generate({ messages: [...ask("go").messages, ...turn("a"), ...turn("b")] });
  const call = (toolCallId: string) => ({ content: [expect.objectContaining({ toolCallId })] });
  expect(model.seen[0]?.prompt.slice(1)).toEqual(
    ["call_0", "call_0", "call_0_2", "call_0_2"].map((id) => expect.objectContaining(call(id))),
  );
});

test("R19: a call that was not finished, as after an abort, gets a result that says so", async () => {
  const model = fixedModel();
  const toolCalls = ["a", "b"].map((id) => ({ id, name: "t", arguments: "{}" }));
  const messages: ChatMessage[] = [
    ...ask("go").messages,
    { role: "assistant", content: "", toolCalls },
    { role: "tool", toolCallId: "b", name: "t", content: "done" },
    ...ask("on").messages,
  ];
  await fromAiSdk(model).generate({ messages });
  expect(model.seen[0]?.prompt.slice(2)).toMatchObject([
    { role: "tool", content: [{ toolCallId: "b", output: { value: "done" } }] },
    {
      role: "tool",
      content: [
        { toolCallId: "a", output: { type: "error-text", value: expect.stringMatching(/no result/) } },
      ],
    },
    { role: "user" },
  ]);
});

describe("files", () => {
  const file = { type: "file", mediaType: "application/pdf", filename: "a.pdf" };

  test.each([
    ["v2", "AAAA"],
    ["v3", "AAAA"],
    ["v4", { type: "data", data: "AAAA" }],
  ] as const)("go to %s as its data", async (version, data) => {
    const model = fixedModel({ version });
    await fromAiSdk(model).generate({
      messages: [
        {
          role: "user",
          content: [
            { type: "image", url: PNG },
            {
              type: "file",
              url: "data:application/pdf;base64,AAAA",
              mediaType: "application/pdf",
              name: "a.pdf",
            },
          ],
        },
      ],
    });
    expect(model.seen[0]?.prompt).toEqual([
      {
        role: "user",
        content: [
          { type: "file", mediaType: "image/png", data },
          { ...file, data },
        ],
      },
    ]);
  });

  test("that are not base64 become base64", async () => {
    const model = fixedModel();
    const url = "data:text/plain,caf%C3%A9";
    await fromAiSdk(model).generate({
      messages: [{ role: "user", content: [{ type: "file", url, mediaType: "text/plain" }] }],
    });
    expect(JSON.stringify(model.seen[0]?.prompt)).toContain(Buffer.from("café").toString("base64"));
  });

  test("are sent under the plain name of their type, which providers compare", async () => {
    const model = fixedModel();
    await fromAiSdk(model).generate({
      messages: [
        {
          role: "user",
          content: [{ type: "file", url: "data:,a", mediaType: "TEXT/Plain; charset=utf-8" }],
        },
      ],
    });
    expect(model.seen[0]?.prompt).toMatchObject([{ content: [{ type: "file", mediaType: "text/plain" }] }]);
  });

  test("that are no images are not sent as such: a long text would have been estimated as one image", async () => {
    const model = fixedModel();
    const url = `data:text/plain;base64,${Buffer.from("Buy!").toString("base64")}`;
    const untyped: ContentPart = { type: "image", url: "data:;base64,AAAA" };
    const messages: ChatMessage[] = [{ role: "user", content: [{ type: "image", url }, untyped] }];
    await fromAiSdk(model).generate({ messages });
    expect(model.seen[0]?.prompt).toMatchObject([
      {
        role: "user",
        content: [
          { type: "text", text: "[an image was left out: it is not an image]" },
          { type: "file", mediaType: "image/*" },
        ],
      },
    ]);
  });

  test("that are links go as links only where the model reads them", async () => {
    const url = "https://example.org/cat.png";
    const messages: ChatMessage[] = [{ role: "user", content: [{ type: "image", url }] }];
    for (const version of VERSIONS) {
      const reads = fixedModel({
        version,
        supportedUrls: Promise.resolve({ "image/*": [/^https:\/\/example\.org\//] }),
      });
      await fromAiSdk(reads).generate({ messages });
      const link = new URL(url);
      const data = version === "v4" ? { type: "url", url: link } : link;
      expect(reads.seen[0]?.prompt).toEqual([
        { role: "user", content: [{ type: "file", mediaType: "image/png", data }] },
      ]);
    }
    const logger = notingLogger();
    const blind = fixedModel({ supportedUrls: { "image/*": [/^https:\/\/elsewhere\//] } });
    await fromAiSdk(blind, { logger }).generate({ messages });
    expect(JSON.stringify(blind.seen[0]?.prompt)).toContain(
      "[an image was left out: this model accepts it only as a data: URL]",
    );
    const said = logger.notes.map(([text]) => text);
    expect(said).toEqual([
      expect.stringMatching(/: an image is left out: this model accepts it only as a data: URL$/),
    ]);
  });

  test.each([
    ["v2", { type: "media", data: "AAAA", mediaType: "image/png" }],
    ["v3", { type: "image-data", data: "AAAA", mediaType: "image/png" }],
    ["v4", { type: "file", data: { type: "data", data: "AAAA" }, mediaType: "image/png" }],
  ] as const)("in a tool's result go to %s in its words", async (version, picture) => {
    const model = fixedModel({ version });
    await fromAiSdk(model).generate({
      messages: toolTurn([
        { type: "text", text: "see" },
        { type: "image", url: PNG },
      ]),
    });
    expect(model.seen[0]?.prompt[2]).toEqual({
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "c1",
          toolName: "look",
          output: { type: "content", value: [{ type: "text", text: "see" }, picture] },
        },
      ],
    });
  });

  test("in a tool's result become a notice in chat protocols, which would send their bytes as letters", async () => {
    const model = fixedModel({ provider: "groq.chat" });
    await fromAiSdk(model).generate({
      messages: toolTurn([
        { type: "text", text: "see" },
        { type: "image", url: PNG },
      ]),
    });
    expect(model.seen[0]?.prompt[2]).toMatchObject({
      content: [
        { output: { type: "text", value: "see\n[an image was left out: only text can be sent here]" } },
      ],
    });
  });

  test.each(["groq.chat", "test.api"])(
    "T10: a part of a kind that nobody knows becomes a notice, over %s",
    async (provider) => {
      const model = fixedModel({ provider });
      const content = JSON.parse('[{"type":"video","url":"https://x.test/v"}]') as [];
      const logger = notingLogger();
      const messages: ChatMessage[] = [
        { role: "user", content },
        { role: "assistant", content },
        ...toolTurn(content),
      ];
      await fromAiSdk(model, { logger }).generate({ messages });
      const text = '[a part of the type "video" was left out: it cannot be sent here]';
      const output =
        provider === "test.api"
          ? { type: "content", value: [{ type: "text", text }] }
          : { type: "text", value: text };
      expect(model.seen[0]?.prompt).toMatchObject([
        { role: "user", content: [{ type: "text", text }] },
        { role: "assistant", content: [{ type: "text", text }] },
        { role: "user" },
        { role: "assistant" },
        { role: "tool", content: [{ output }] },
      ]);
      expect(logger.notes.map(([what]) => what)).toEqual([
        `${provider.split(".", 1)[0]}/small: ${text.slice(1, -1)}`,
      ]);
    },
  );

  function toolTurn(content: Extract<ChatMessage, { role: "tool" }>["content"]): ChatMessage[] {
    return [
      { role: "user", content: "look" },
      { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "look", arguments: "{}" }] },
      { role: "tool", toolCallId: "c1", name: "look", content },
    ];
  }
});

describe("the system's words", () => {
  const messages: ChatMessage[] = [
    { role: "system", content: "first" },
    { role: "user", content: "one" },
    { role: "system", content: "late" },
  ];

  test("said late keep their place as the user's, where the provider has one place for them", async () => {
    const model = fixedModel({ provider: "anthropic.messages" });
    await fromAiSdk(model).generate({ messages });
    expect(model.seen[0]?.prompt.at(-1)).toEqual({
      role: "user",
      content: [{ type: "text", text: "<system>\nlate\n</system>" }],
    });
  });

  test.each([" ", ""])(
    "are not sent if there are none (%j), early or late: Anthropic refuses them",
    async (content) => {
      const model = fixedModel({ provider: "anthropic.messages" });
      const none: ChatMessage = { role: "system", content };
      await fromAiSdk(model).generate({ messages: [none, ...ask("go").messages, none] });
      expect(model.seen[0]?.prompt).toEqual([{ role: "user", content: [{ type: "text", text: "go" }] }]);
    },
  );

  test("said late stay the system's where the provider takes them", async () => {
    for (const [provider, options] of [
      ["openai.responses", {}],
      ["azure-openai.chat", {}],
      ["mine", { systemAnywhere: true }],
    ] as const) {
      const model = fixedModel({ provider });
      await fromAiSdk(model, options).generate({ messages });
      expect(model.seen[0]?.prompt.at(-1)).toEqual({ role: "system", content: "late" });
    }
  });
});

test("R19: what a provider wants back with a tool call or its reasoning comes back, and goes to no other", async () => {
  const metadata = { google: { thoughtSignature: "c2ln" } };
  const model = fixedModel({
    provider: "google.generative-ai",
    result: {
      content: [
        { type: "reasoning", text: "hm", providerMetadata: metadata },
        { type: "text", text: "I look." },
        {
          type: "tool-call",
          toolCallId: "c1",
          toolName: "look",
          input: '{"a":1}',
          providerMetadata: metadata,
        },
        { type: "tool-call", toolCallId: "c2", toolName: "look", input: "{}" },
      ],
      finishReason: { unified: "tool-calls", raw: "tool" },
      usage: {},
    },
  });
  const { message } = await fromAiSdk(model).generate(ask("go"));
  // A conversation is plain JSON: it may have been on a disk in between, and its calls may have been given other ids.
  const kept = JSON.parse(JSON.stringify(message)) as typeof message;
  const toolCalls = kept.toolCalls?.map((call) => ({ ...call, id: `new-${call.id}` }));
  const messages: ChatMessage[] = [...ask("go").messages, { ...kept, toolCalls }];
  await fromAiSdk(model).generate({ messages });
  expect(model.seen[1]?.prompt[1]).toEqual({
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm", providerOptions: metadata },
      { type: "text", text: "I look." },
      {
        type: "tool-call",
        toolCallId: "new-c1",
        toolName: "look",
        input: { a: 1 },
        providerOptions: metadata,
      },
      { type: "tool-call", toolCallId: "new-c2", toolName: "look", input: {} },
    ],
  });
  const logger = notingLogger();
  const other = fixedModel({ provider: "anthropic.messages" });
  await fromAiSdk(other, { logger }).generate({ messages });
  expect(JSON.stringify(other.seen[0]?.prompt)).not.toContain("c2ln");
  expect(logger.notes.map(([what]) => what)).toContain(
    "anthropic/small: reasoning of another provider was left out",
  );
});
