import { type ChatMessage, defineTool, type ModelRequest } from "@ravi/kernel";
import { toolSpec } from "@ravi/kernel/loop";
import type { OpenAIOptions } from "@ravi/provider-openai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { client, HELLO, listener, rawServer, SPOKEN, sse, streamed, terminal } from "./support.ts";

const OK = SPOKEN.responses.whole("ok");

/** What a request looks like on the wire. */
async function sent(request: ModelRequest, options: OpenAIOptions = {}): Promise<Record<string, unknown>> {
  await using server = await rawServer((response) => void response.end(OK));
  await client(server, { api: "responses", ...options }).generate(request);
  return server.bodies[0] ?? {};
}

const inputOf = async (messages: readonly ChatMessage[], options: OpenAIOptions = {}): Promise<unknown> =>
  (await sent({ messages }, options))["input"];

describe("a request", () => {
  test("keeps nothing at the server, and holds nothing else that was not asked for", async () => {
    expect(await sent(HELLO)).toEqual({
      model: "test-model",
      input: [{ role: "user", content: "hello" }],
      include: ["reasoning.encrypted_content"],
      store: false,
    });
  });

  test("carries every setting by its name in the protocol", async () => {
    const body = await sent({
      ...HELLO,
      maxOutputTokens: 100,
      temperature: 0.5,
      topP: 0.9,
      reasoning: { effort: "low", summary: true },
      tools: [{ name: "f", description: "d", parameters: { type: "object", properties: {} } }],
      toolChoice: { name: "f" },
      output: { name: "my answer!", schema: { type: "object", properties: { a: { type: "string" } } } },
      providerOptions: { openai: { prompt_cache_key: "k", temperature: 0.7 }, anthropic: { thinking: true } },
    });
    expect(body).toMatchObject({
      max_output_tokens: 100,
      temperature: 0.7,
      top_p: 0.9,
      reasoning: { effort: "low", summary: "auto" },
      tool_choice: { type: "function", name: "f" },
      prompt_cache_key: "k",
    });
    expect(body["text"]).toEqual({
      format: {
        type: "json_schema",
        name: "my_answer_",
        schema: { type: "object", properties: { a: { type: "string" } } },
      },
    });
    expect(body).not.toHaveProperty("thinking");
  });

  test("is added to by providerOptions where a setting has several, and cannot be talked out of what it reads", async () => {
    const body = await sent({
      ...HELLO,
      reasoning: { effort: "low" },
      output: { name: "a", schema: { type: "object" } },
      tools: [{ name: "f", description: "d", parameters: { type: "object" } }],
      providerOptions: {
        openai: {
          text: { verbosity: "low" },
          reasoning: { summary: "detailed" },
          include: ["message.output_text.logprobs"],
          tools: [{ type: "web_search" }],
          stream: true,
        },
      },
    });
    expect(body).toMatchObject({
      text: { verbosity: "low", format: { type: "json_schema" } },
      reasoning: { effort: "low", summary: "detailed" },
      include: ["reasoning.encrypted_content", "message.output_text.logprobs"],
      tools: [{ type: "function", name: "f" }, { type: "web_search" }],
    });
    expect(body).not.toHaveProperty("stream");
  });

  test("says of each tool whether it is strict: a schema that says nothing would be changed", async () => {
    const tool = (input: z.ZodType) =>
      toolSpec(defineTool({ name: "f", description: "d", input, execute: () => "ok" }));
    const tools = [tool(z.object({ a: z.string() })), tool(z.object({ a: z.string().optional() }))];
    const body = await sent({ ...HELLO, tools });
    expect(body["tools"]).toEqual([
      expect.objectContaining({ type: "function", name: "f", description: "d", strict: true }),
      expect.objectContaining({ strict: false, parameters: { ...tools[1]?.parameters } }),
    ]);
  });

  test("carries images and files, also in a tool's result, and tells the model what had to be left out", async () => {
    const { logger, said } = listener();
    const items = await inputOf(
      [
        { role: "system", content: "be brief" },
        {
          role: "user",
          name: "ann",
          content: [
            { type: "text", text: "look" },
            { type: "image", url: "https://x.test/a.png" },
            {
              type: "file",
              url: "data:application/pdf;base64,AAAA",
              mediaType: "application/pdf",
              name: "a.pdf",
            },
            { type: "file", url: "file-abc", mediaType: "application/pdf" },
            { type: "file", url: "file-img", mediaType: "image/png" },
            { type: "file", url: "https://x.test/b.pdf", mediaType: "application/pdf" },
            { type: "file", url: "data:audio/wav;base64,BBBB", mediaType: "audio/wav", name: "s.wav" },
          ],
        },
        { role: "assistant", content: "", toolCalls: [{ id: "b", name: "f", arguments: '{"a": 1 }' }] },
        {
          role: "tool",
          toolCallId: "b",
          name: "f",
          content: [
            { type: "text", text: "seen" },
            { type: "image", url: "data:image/png;base64,CC" },
          ],
        },
        { role: "system", content: "hurry" },
        { role: "user", name: "bob", content: "and?" },
      ],
      { logger },
    );
    expect(items).toEqual([
      { role: "system", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "input_text", text: "ann:" },
          { type: "input_text", text: "look" },
          { type: "input_image", detail: "auto", image_url: "https://x.test/a.png" },
          { type: "input_file", file_data: "data:application/pdf;base64,AAAA", filename: "a.pdf" },
          { type: "input_file", file_id: "file-abc" },
          { type: "input_image", detail: "auto", file_id: "file-img" },
          { type: "input_file", file_url: "https://x.test/b.pdf" },
          {
            type: "input_text",
            text: "[the file s.wav was left out: only text, images and documents can be sent here]",
          },
        ],
      },
      { type: "function_call", call_id: "b", name: "f", arguments: '{"a": 1 }' },
      {
        type: "function_call_output",
        call_id: "b",
        output: [
          { type: "input_text", text: "seen" },
          { type: "input_image", detail: "auto", image_url: "data:image/png;base64,CC" },
        ],
      },
      { role: "system", content: "hurry" },
      { role: "user", content: "bob: and?" },
    ]);
    expect(said).toEqual([
      "openai/test-model: audio and video are left out: the Responses API does not accept them",
    ]);
  });

  test("takes a file for what its type says, in capitals too", async () => {
    const content = [
      { type: "file", url: "https://x.test/a", mediaType: "IMAGE/PNG" },
      { type: "file", url: "data:audio/wav;base64,BBBB", mediaType: "Audio/WAV" },
    ] as const;
    expect(await inputOf([{ role: "user", content }])).toMatchObject([
      { content: [{ type: "input_image" }, { type: "input_text" }] },
    ]);
  });

  test("begins the same from call to call, so that the prompt cache finds it", async () => {
    const turn = (n: number): ChatMessage[] => [
      { role: "user", content: `question ${n}` },
      { role: "assistant", content: "I look.", toolCalls: [{ id: "call_0", name: "f", arguments: "{}" }] },
      { role: "tool", toolCallId: "call_0", name: "f", content: "done" },
    ];
    const messages = [1, 2, 3].flatMap(turn);
    const all = JSON.stringify(await inputOf(messages)).slice(0, -1);
    for (let count = 1; count < messages.length; count++) {
      const some = JSON.stringify(await inputOf(messages.slice(0, count))).slice(0, -1);
      expect(all.startsWith(some)).toBe(true);
    }
  });
});

describe("what the Responses API has no place for", () => {
  test("T10: tells the model of what is at no URL, and of a part of a kind that nobody knows", async () => {
    const { logger, said } = listener();
    const content = [
      { type: "file", url: "/etc/passwd", mediaType: "text/plain" },
      { type: "file", url: "C:\\a.pdf", mediaType: "application/pdf", name: "a.pdf" },
      { type: "image", url: "a.png" },
      ...(JSON.parse('[{"type":"video","url":"https://x.test/v"}]') as []),
    ] as const;
    const messages: ChatMessage[] = [
      { role: "user", content },
      { role: "tool", toolCallId: "a", name: "f", content },
    ];
    const expected = [
      "[the file (text/plain) was left out: it has no valid URL]",
      "[the file a.pdf was left out: it has no valid URL]",
      "[an image was left out: it has no valid URL]",
      '[a part of the type "video" was left out: it cannot be sent here]',
    ].map((text) => ({ type: "input_text", text }));
    expect(await inputOf(messages, { logger })).toMatchObject([{ content: expected }, { output: expected }]);
    expect(said).toEqual([
      "openai/test-model: images and files without a valid URL are left out",
      'openai/test-model: a part of the type "video" was left out: it cannot be sent here',
    ]);
  });

  test("T10: tells the model of an image and an unknown part in its own message", async () => {
    const { logger, said } = listener();
    const content = [
      { type: "text", text: "Here:" },
      { type: "image", url: "https://x.test/a.png" },
      ...(JSON.parse('[{"type":"video","url":"https://x.test/v"}]') as []),
    ] as const;
    expect(await inputOf([{ role: "assistant", content }], { logger })).toEqual(
      [
        "Here:",
        "[an image was left out: only text can be sent here]",
        '[a part of the type "video" was left out: it cannot be sent here]',
      ].map((text) => ({ role: "assistant", content: text })),
    );
    expect(said).toEqual([
      "openai/test-model: an image is left out: only text can be sent here",
      'openai/test-model: a part of the type "video" was left out: it cannot be sent here',
    ]);
  });

  test("stop sequences and a seed are left out, and that is said once", async () => {
    const { logger, said } = listener();
    await using server = await rawServer((response) => void response.end(OK));
    const model = client(server, { api: "responses", logger });
    for (let n = 0; n < 3; n++) await model.generate({ ...HELLO, stop: ["END"], seed: 7 });
    expect(said).toEqual([
      expect.stringContaining("stop sequences are left out"),
      expect.stringContaining("the seed is left out"),
    ]);
    expect(server.bodies[0]).not.toHaveProperty("stop");
    expect(server.bodies[0]).not.toHaveProperty("seed");
  });
});

describe("a stream of responses", () => {
  test("tells of a call as it begins, then of its arguments", async () => {
    await using server = await rawServer((response) => {
      const item = { type: "function_call", id: "fc0", call_id: "call0", name: "f", arguments: "" };
      response.writeHead(200, { "content-type": "text/event-stream" }).end(
        sse("response.output_item.added", { output_index: 0, item }) +
          sse("response.function_call_arguments.delta", {
            item_id: "fc0",
            output_index: 0,
            delta: '{"a"',
          }) +
          sse("response.function_call_arguments.delta", {
            item_id: "fc0",
            output_index: 0,
            delta: ":1}",
          }) +
          terminal([{ ...item, arguments: '{"a":1}' }]),
      );
    });
    const { events } = await streamed(client(server, { api: "responses" }));
    expect(events.slice(0, -1)).toEqual([
      { type: "toolCall", index: 0, id: "call0", name: "f", delta: "" },
      { type: "toolCall", index: 0, delta: '{"a"' },
      { type: "toolCall", index: 0, delta: ":1}" },
    ]);
  });
});
