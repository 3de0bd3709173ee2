import { IncomingMessage, ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { CancellationError, ProviderError, systemClock } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { withTimers } from "@ravi/kernel/loop";
import {
  type Answer,
  type LoopbackOptions,
  loopbackOpenAI,
  type LoopbackServer,
  virtualClock,
} from "../src/index.ts";
import { planAnswer } from "../src/answers/plan.ts";
import { makeBill } from "../src/loopback/bill.ts";
import { deliver } from "../src/loopback/deliver.ts";
import { OPENAI } from "../src/loopback/openai-protocol.ts";
import { createContext } from "../src/loopback/server-context.ts";
import { chat, eventsOf, jsonOf, post } from "./helpers.ts";

const serving = (answer: Answer, more: Partial<LoopbackOptions> = {}): Promise<LoopbackServer> =>
  loopbackOpenAI({ script: () => answer, ...more });
const streamed = chat("a", { stream: true });

/** All that a client gets on one connection, and how it ended. */
function rawExchange(port: number, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(port, "127.0.0.1");
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => (received += text));
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  });
}

describe("a refusal", () => {
  test("carries its status, headers, code and message, and is not billed", async () => {
    await using server = await serving({
      fault: {
        type: "status",
        status: 429,
        headers: { "Retry-After": "7" },
        message: "slow down",
        code: "rate_limit_exceeded",
      },
    });
    const response = await post(server.url, streamed);
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await response.json()).toEqual({
      error: { message: "slow down", type: "rate_limit_error", param: null, code: "rate_limit_exceeded" },
    });
    expect(server.bill().calls).toBe(0);
  });

  test.each([
    [new Error("broken"), 500, null, null],
    [new ProviderError({ kind: "OVERLOADED", message: "busy" }), 503, null, null],
    [new ProviderError({ kind: "OVERLOADED", message: "busy", status: 529 }), 529, null, null],
    [
      new ProviderError({ kind: "RATE_LIMIT", message: "slow", retryAfterMs: 1_500 }),
      429,
      "rate_limit_exceeded",
      "2",
    ],
    [new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "long" }), 400, "context_length_exceeded", null],
    // What a client that never got an answer may put there, which no server can send.
    [new ProviderError({ kind: "TIMEOUT", message: "no connection", status: 0 }), 504, null, null],
  ])(
    "%s has its status over HTTP, whether it is given or thrown",
    async (error, status, code, retryAfter) => {
      await using given = await serving(error);
      await using thrown = await loopbackOpenAI({
        script: () => {
          throw error;
        },
      });
      for (const server of [given, thrown]) {
        const response = await post(server.url, chat("a"));
        const body = await jsonOf(response);
        expect([
          response.status,
          body.error.code,
          response.headers.get("retry-after"),
          body.error.message,
        ]).toEqual([status, code, retryAfter, error.message]);
        expect(server.bill().calls).toBe(0);
      }
    },
  );

  test("says how long to wait to the millisecond, as the providers do", async () => {
    const error = new ProviderError({ kind: "RATE_LIMIT", message: "slow", retryAfterMs: 250 });
    await using server = await serving(error);
    const { headers } = await post(server.url, chat("a"));
    expect([headers.get("retry-after"), headers.get("retry-after-ms")]).toEqual(["1", "250"]);
  });
});

describe("a delay", () => {
  test("comes from the clock that is given, and the charge comes before it", async () => {
    const clock = virtualClock();
    await using server = await serving({ text: "late", delayMs: 60_000 }, { clock });
    const call = post(server.url, chat("a"));
    await expect.poll(() => clock.pending).toBe(1);
    expect(server.bill().calls).toBe(1);
    await clock.advance(60_000);
    expect((await call).status).toBe(200);
  });
});

describe("a connection that breaks", () => {
  test("in the middle of a stream: so many deltas come whole, then the client sees a broken body", async () => {
    await using server = await serving(
      { text: "abcdef", fault: { type: "cut", afterDeltas: 2 } },
      { chunkSize: 1 },
    );
    const raw = await rawExchange(server.port, JSON.stringify(streamed));
    expect(raw.match(/"content":"[a-z]"/g)).toEqual(['"content":"a"', '"content":"b"']);
    expect(raw).not.toContain("[DONE]");
    // No last chunk: the body did not end, it broke off.
    expect(raw.endsWith("0\r\n\r\n")).toBe(false);
    const response = await post(server.url, streamed);
    await expect(response.text()).rejects.toThrow(TypeError);
    expect(server.bill().calls).toBe(2);
  });

  test("in the middle of a body", async () => {
    await using server = await serving({ text: "abcdef", fault: { type: "cut" } });
    const raw = await rawExchange(server.port, JSON.stringify(chat("a")));
    expect(raw).toMatch(/^HTTP\/1\.1 200 OK[^]*\r\n\r\n\{"id":"chatcmpl-0","object":"/);
    expect(raw).not.toContain("usage");
    const response = await post(server.url, chat("a"));
    await expect(response.json()).rejects.toThrow(TypeError);
  });

  test("with an error: the stream says it as an event and ends", async () => {
    const error = new ProviderError({ kind: "OVERLOADED", message: "gave up" });
    await using server = await serving({ text: "abc", fault: { type: "cut", error } }, { chunkSize: 1 });
    const events = eventsOf(await (await post(server.url, streamed)).text());
    expect(JSON.parse(events.at(-1) ?? "")).toEqual({
      error: { message: "gave up", type: "server_error", param: null, code: null },
    });
    expect(events).toHaveLength(3);
  });

  test("politely, without a finish", async () => {
    await using server = await serving({ text: "abc", fault: { type: "unfinished" } });
    const events = eventsOf(await (await post(server.url, streamed)).text());
    expect(events.map((event) => JSON.parse(event).choices[0].finish_reason)).toEqual([null, null]);
    await expect((await post(server.url, chat("a"))).json()).rejects.toThrow(SyntaxError);
  });
});

describe("a body that is no answer", () => {
  test("stops short, or is what the script wants", async () => {
    await using broken = await serving({ fault: { type: "malformed" } });
    expect(await (await post(broken.url, chat("a"))).text()).toBe('{"id":"chatcmpl-');
    expect(await (await post(broken.url, streamed)).text()).toBe('data: {"id":"chatcmpl-\n\n');
    await using html = await serving({
      fault: { type: "malformed", body: "<html></html>", contentType: "text/html" },
    });
    const response = await post(html.url, chat("a"));
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
      200,
      "text/html",
      "<html></html>",
    ]);
    expect([broken.bill().calls, html.bill().calls]).toEqual([2, 1]);
  });
});

describe("T4: a server that hangs", () => {
  test("says nothing at all, until the client gives up; nothing is billed and nothing is left", async () => {
    const clock = virtualClock();
    await using server = await serving({ text: "never", fault: { type: "hang" } }, { clock });
    const client = new AbortController();
    const call = post(server.url, chat("a"), { signal: client.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    client.abort();
    await expect(call).rejects.toThrow(/abort/i);
    expect([server.bill().calls, clock.pending]).toEqual([0, 0]);
  });

  test.each([
    ["after the headers", 0, ""],
    ["after a delta", 1, '"content":"a"'],
  ])("%s: what came before is there, and it is billed", async (_, afterDeltas, expected) => {
    await using server = await serving(
      { text: "abc", fault: { type: "hang", afterDeltas } },
      { chunkSize: 1 },
    );
    const client = new AbortController();
    const response = await post(server.url, streamed, { signal: client.signal });
    expect(response.status).toBe(200);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; !text.includes(expected);) text += (await reader?.read())?.value ?? "";
    const rest = reader?.read();
    client.abort();
    await expect(rest).rejects.toThrow(/abort/i);
    expect(server.bill().calls).toBe(1);
    const whole = await post(server.url, chat("a"), { signal: AbortSignal.timeout(60_000) });
    expect(whole.status).toBe(200);
    await whole.body?.cancel();
  });
});

describe("a client that goes away", () => {
  test("during the delay is billed all the same, and its timer goes with it", async () => {
    const clock = virtualClock();
    await using server = await serving({ text: "late", delayMs: 60_000 }, { clock });
    const client = new AbortController();
    const call = post(server.url, chat("a"), { signal: client.signal });
    await expect.poll(() => clock.pending).toBe(1);
    client.abort();
    await expect(call).rejects.toThrow(/abort/i);
    await expect.poll(() => clock.pending).toBe(0);
    expect(server.bill().calls).toBe(1);
  });

  test("while the script thinks is billed once it has thought, and the script is told", async () => {
    let answer: ((answer: Answer) => void) | undefined;
    let signal: AbortSignal | undefined;
    await using server = await loopbackOpenAI({
      script: (_, call) => {
        signal = call.signal;
        return new Promise<Answer>((resolve) => (answer = resolve));
      },
    });
    const client = new AbortController();
    const call = post(server.url, chat("a"), { signal: client.signal });
    await expect.poll(() => signal).toBeDefined();
    client.abort();
    await expect(call).rejects.toThrow(/abort/i);
    await expect.poll(() => signal?.aborted).toBe(true);
    expect(server.bill().calls).toBe(0);
    answer?.("thought");
    await expect.poll(() => server.bill().calls).toBe(1);
  });

  test("in the middle of a long stream does not stop the server", async () => {
    await using server = await serving("x".repeat(200_000), { chunkSize: 10 });
    const response = await post(server.url, streamed);
    await response.body?.cancel();
    expect((await post(server.url, chat("a"))).status).toBe(200);
    expect(server.bill().calls).toBe(2);
  });

  // Node 22 forgets the callback of a write whose socket is destroyed in the same tick, as this response forgets all of them.
  test.each([{ stream: true }, { stream: false }])(
    "ends the answer even if the write never calls back (%j)",
    async ({ stream }) => {
      const clock = withTimers(systemClock, globalThis);
      const bill = makeBill({ disk: undefined, prices: undefined, clock });
      const gone = new AbortController();
      const context = createContext({ script: [] }, { bill, closing: gone.signal, protocol: OPENAI });
      const response = new ServerResponse(new IncomingMessage(new Socket()));
      const plan = planAnswer({ text: "a", fault: { type: "cut" } }, { messages: [] });
      const wire = {
        whole: () => ({}),
        opening: () => "a",
        delta: () => "b",
        closing: () => "c",
        failure: () => "d",
      };
      const delivered = deliver(response, { plan, wire, stream, context, signal: gone.signal });
      gone.abort();
      await expect(delivered).rejects.toThrow(CancellationError);
    },
  );
});

describe("close", () => {
  test("ends hanging, delayed and thinking calls, and is done itself", async () => {
    const clock = virtualClock();
    const answers: Answer[] = [
      { fault: { type: "hang" } },
      { fault: { type: "hang", afterDeltas: 0 } },
      { delayMs: 60_000 },
    ];
    const server = await loopbackOpenAI({
      script: (_, { index }) => answers[index] ?? new Promise<Answer>(() => {}),
      clock,
    });
    const calls = [1, 2, 3, 4, 5].map(async () => (await post(server.url, chat("a"))).text());
    const outcomes = Promise.allSettled(calls);
    await expect.poll(() => server.requests.length).toBe(5);
    await Promise.all([server.close(), server.close()]);
    expect((await outcomes).map((outcome) => outcome.status)).toEqual(Array(5).fill("rejected"));
    expect(clock.pending).toBe(0);
    await expect(post(server.url, chat("a"))).rejects.toThrow(TypeError);
    await server.close();
  });
});
