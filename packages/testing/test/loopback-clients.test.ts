import type { JsonObject, ModelRequest } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { loopbackAnthropic, type LoopbackCall, loopbackOpenAI, type LoopbackServer } from "../src/index.ts";
import { jsonOf } from "./helpers.ts";

// What the official clients send and read: openai 7.55.0, @anthropic-ai/sdk 1.9.0, @langchain/anthropic 1.5.11.

interface Heard {
  readonly status: number;
  readonly body: JsonObject;
  /** The request as the script got it. */
  readonly request: ModelRequest | undefined;
}

async function send(
  start: (script: (request: ModelRequest, call: LoopbackCall) => string) => Promise<LoopbackServer>,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Heard> {
  let request: ModelRequest | undefined;
  await using server = await start((asked) => {
    request = asked;
    return "ok";
  });
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers,
  });
  return { status: response.status, body: await jsonOf(response), request };
}

const WEATHER = { type: "object", properties: { city: { type: "string" } } };

describe("POST /v1/chat/completions", () => {
  test("takes sound, which goes to the script as a file", async () => {
    const { status, request } = await send((script) => loopbackOpenAI({ script }), "/chat/completions", {
      model: "small",
      messages: [
        { role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } }] },
      ],
    });
    expect(status).toBe(200);
    expect(request?.messages).toEqual([
      {
        role: "user",
        content: [{ type: "file", url: "data:audio/mpeg;base64,AAAA", mediaType: "audio/mpeg" }],
      },
    ]);
  });

  test("counts what was written to a cache", async () => {
    const usage = { inputTokens: 9, outputTokens: 2, cachedInputTokens: 3, cacheWriteTokens: 4 };
    await using server = await loopbackOpenAI({ script: [{ text: "ok", usage }] });
    const body = JSON.stringify({ model: "small", messages: [{ role: "user", content: "go" }] });
    const response = await fetch(`${server.url}/chat/completions`, { method: "POST", body });
    expect(await jsonOf(response)).toMatchObject({
      usage: { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 4 } },
    });
  });
});

describe("POST /v1/responses", () => {
  const ask = (more: object): Promise<Heard> =>
    send((script) => loopbackOpenAI({ script }), "/responses", { model: "small", input: "go", ...more });

  test.each<[string, object]>([
    ["access_programs", { cyber: "standard" }],
    ["context_management", [{ type: "compaction", compact_threshold: 1_000 }]],
    ["image", {}],
    ["moderation", { model: "omni" }],
    ["prompt_cache_options", { ttl: "12h" }],
    ["reasoning", { effort: "max", mode: "pro", context: "auto" }],
  ])("takes the parameter %s", async (param, value) => {
    expect((await ask({ [param]: value })).status).toBe(200);
  });

  test("answers with every field that a strict client (@effect/ai-openai 0.41.0) requires, and repeats the settings", async () => {
    const asked = {
      instructions: "Be brief.",
      metadata: { a: "b" },
      temperature: 0.5,
      top_p: 0.5,
      tool_choice: "none",
      tools: [{ type: "function", name: "weather", parameters: WEATHER, strict: false }],
      parallel_tool_calls: false,
    };
    expect((await ask(asked)).body).toMatchObject(asked);
    await using server = await loopbackOpenAI({ script: ["ok"] });
    const body = JSON.stringify({ model: "small", input: "go", stream: true });
    const text = await (await fetch(`${server.url}/responses`, { method: "POST", body })).text();
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
    for (const type of ["response.created", "response.completed"])
      expect(events.find((event) => event.type === type)).toMatchObject({
        response: { instructions: null, metadata: {}, tools: [], tool_choice: "auto" },
      });
    for (const type of ["response.output_text.delta", "response.output_text.done"])
      expect(events.find((event) => event.type === type)).toMatchObject({ logprobs: [] });
  });

  test("takes all settings of a function", async () => {
    const tool = { type: "function", name: "weather", strict: false, parameters: WEATHER };
    const { status, request } = await ask({
      tools: [
        { ...tool, defer_loading: true, allowed_callers: ["direct"], async: false, output_schema: null },
        { type: "tool_search" },
      ],
    });
    expect(status).toBe(200);
    expect(request?.tools?.map(({ name }) => name)).toEqual(["weather"]);
  });

  test("takes calls and their results with all their fields, and a mark of the cache", async () => {
    const mark = { prompt_cache_breakpoint: { mode: "explicit" } };
    const caller = { type: "direct" };
    const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "weather", arguments: "{}" };
    const { status, request } = await ask({
      input: [
        { role: "user", content: [{ type: "input_image", image_url: "data:,x", detail: "auto", ...mark }] },
        { ...call, status: "completed", caller, namespace: "n", async: false },
        { type: "function_call_output", call_id: "c1", output: "rain", caller, name: "weather" },
        { role: "user", content: [{ type: "input_file", file_id: "file-1", ...mark }] },
      ],
    });
    expect(status).toBe(200);
    expect(request?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });
});

describe("POST /v1/messages", () => {
  const ask = (more: object, headers: Record<string, string> = {}): Promise<Heard> =>
    send(
      (script) => loopbackAnthropic({ script }),
      "/v1/messages",
      { model: "small", max_tokens: 100, messages: [{ role: "user", content: "go" }], ...more },
      { "anthropic-version": "2026-10-21", ...headers },
    );

  test.each<[string, unknown]>([
    ["container", null],
    ["diagnostics", { previous_message_id: null }],
    ["inference_geo", "us"],
    ["speed", "fast"],
    ["thinking", { type: "between_tools" }],
  ])("takes the parameter %s", async (param, value) => {
    expect((await ask({ [param]: value })).status).toBe(200);
  });

  test("takes tools that run at Anthropic, which the script finds in the body", async () => {
    const own = { name: "weather", input_schema: WEATHER, strict: true, type: "custom" };
    const { status, request } = await ask({
      tools: [own, { type: "web_search_20260318", name: "web_search" }],
    });
    expect(status).toBe(200);
    expect(request?.tools?.map(({ name }) => name)).toEqual(["weather"]);
    const only = [{ type: "web_search_20260318", name: "web_search" }];
    expect((await ask({ tools: only, tool_choice: { type: "tool", name: "web_search" } })).status).toBe(200);
  });

  test("takes a system message after the user's, and nowhere else", async () => {
    const system = { role: "system", content: "Be brief." };
    const user = { role: "user", content: "go" };
    const answer = { role: "assistant", content: "ok" };
    const { status, request } = await ask({ messages: [user, answer, user, system] });
    expect(status).toBe(200);
    expect(request?.messages).toEqual([user, answer, user, system]);
    for (const messages of [
      [system, user],
      [user, answer, system, user],
    ])
      expect((await ask({ messages })).status).toBe(400);
  });

  test("takes fields of a beta only with its header", async () => {
    const more = { context_management: { edits: [] } };
    expect((await ask(more)).status).toBe(400);
    expect((await ask(more, { "anthropic-beta": "context-management-2025-06-27" })).status).toBe(200);
  });

  test("keeps no thread, and says so as the official client understands it, which then does without", async () => {
    const { status, body } = await ask({ thread: { type: "create" } }, { "anthropic-beta": "threads" });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { details: { error_code: "thread_unsupported_request" } } });
  });
});
