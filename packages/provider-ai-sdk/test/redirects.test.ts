import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "vitest";
import { type AiSdkModel, carefulFetch, fromAiSdk } from "../src/index.ts";
import { ask, failureOf, streamed } from "./support.ts";

const KEY = "sk-test-canary-0001";

interface Listening {
  readonly url: string;
  readonly received: readonly IncomingMessage[];
  [Symbol.asyncDispose](): Promise<void>;
}

async function listening(answer: RequestListener): Promise<Listening> {
  const received: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    received.push(request);
    request.resume();
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type Fetch = typeof globalThis.fetch;

const MODELS: Readonly<Record<string, (url: string, fetch: Fetch) => AiSdkModel>> = {
  "@ai-sdk/openai (chat)": (url, fetch) => createOpenAI({ baseURL: url, apiKey: KEY, fetch }).chat("gpt-4.1"),
  "@ai-sdk/openai (responses)": (url, fetch) =>
    createOpenAI({ baseURL: url, apiKey: KEY, fetch }).responses("gpt-4.1"),
  "@ai-sdk/anthropic": (url, fetch) =>
    createAnthropic({ baseURL: url, apiKey: KEY, fetch })("claude-sonnet-4-5"),
};

describe.each(Object.entries(MODELS))("fromAiSdk over %s, with carefulFetch", (_name, make) => {
  test.each([301, 302, 303, 307, 308])(
    "T10: %i is not followed, so neither the key nor the prompt goes elsewhere",
    async (status) => {
      await using other = await listening((_, response) => void response.end("{}"));
      await using server = await listening((_, response) => {
        response.writeHead(status, { location: `${other.url}/?canary` }).end("moved");
      });
      const client = fromAiSdk(make(server.url, carefulFetch()));
      for (const error of [await failureOf(client.generate(ask("go"))), await failureOf(streamed(client))]) {
        expect(error).toMatchObject({
          code: "PROVIDER_ERROR",
          kind: "FORMAT_ERROR",
          status,
          retryable: false,
          message: expect.stringContaining("redirects are not followed"),
        });
        expect(String(error)).not.toContain("canary");
      }
      expect([server.received.length, other.received.length]).toEqual([2, 0]);
    },
  );

  test("T10: what is not redirected is left as it is, also through a fetch of one's own", async () => {
    await using server = await listening((_, response) => {
      response.writeHead(429, { "content-type": "application/json", "retry-after": "2" });
      response.end('{"error":{"type":"rate_limit_error","message":"slow down"}}');
    });
    const asked: unknown[] = [];
    const own: Fetch = (input, init) => {
      asked.push(init?.redirect);
      return globalThis.fetch(input, init);
    };
    const client = fromAiSdk(make(server.url, carefulFetch(own)));
    expect(await failureOf(client.generate(ask("go")))).toMatchObject({
      kind: "RATE_LIMIT",
      retryAfterMs: 2_000,
    });
    expect(asked).toEqual(["manual"]);
  });
});

test("T10: a redirect that the platform hides is refused too", async () => {
  const hidden: Fetch = async () => Response.error();
  const model = createOpenAI({ baseURL: "http://127.0.0.1:9", apiKey: KEY, fetch: carefulFetch(hidden) });
  expect(await failureOf(fromAiSdk(model.chat("m")).generate(ask("go")))).toMatchObject({
    kind: "FORMAT_ERROR",
    status: undefined,
    message: expect.stringContaining("redirects are not followed"),
  });
});
