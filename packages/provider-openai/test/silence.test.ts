import { getEventListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { CancellationToken, DeadlineExceededError, isRaviError, type LLMClient } from "@ravi/kernel";
import type { OpenAIOptions } from "@ravi/provider-openai";
import { virtualClock } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import {
  APIS,
  chunk,
  client as clientOf,
  DONE,
  failureOf,
  HELLO,
  rawServer,
  SPOKEN,
  streamed,
} from "./support.ts";

const STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };

describe.each(APIS)("over %s:", (api) => {
  const { piece, end, last } = SPOKEN[api];
  const client = (server: { readonly url: string }, options: OpenAIOptions = {}): LLMClient =>
    clientOf(server, { api, ...options });

  /** Where a server can fall silent. */
  const STALLS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
    ["before its headers", () => undefined],
    ["after its headers", (response) => response.writeHead(200, STREAM).flushHeaders()],
    ["in the middle of a stream", (response) => void response.writeHead(200, STREAM).write(piece("hi"))],
    ["in the middle of a line", (response) => void response.writeHead(200, STREAM).write('data: {"choices"')],
    ["in the middle of a body", (response) => void response.writeHead(200, JSON_TYPE).write('{"choices":')],
    ["in the middle of an error", (response) => void response.writeHead(500, JSON_TYPE).write('{"error":')],
  ];

  describe.each(STALLS)("a server that falls silent %s", (where, stall) => {
    test("T10: is given up after idleTimeoutMs, and its connection is closed", async () => {
      await using server = await rawServer(stall);
      const clock = virtualClock();
      let reached = Promise.withResolvers<void>();
      const fetch: typeof globalThis.fetch = async (input, init) => {
        const response = await globalThis.fetch(input, init);
        reached.resolve();
        return response;
      };
      const model = client(server, { clock, idleTimeoutMs: 5_000, fetch });
      const calls = [() => model.generate(HELLO), () => streamed(model)];
      for (const [index, call] of calls.entries()) {
        reached = Promise.withResolvers();
        const failed = failureOf(call());
        await (where === "before its headers" ? server.arrived(index + 1) : reached.promise);
        await turn();
        // What came just now started the wait anew, and a timer that fires early is set again.
        await clock.advance(5_000);
        await clock.advance(5_000);
        expect(await failed).toMatchObject({ code: "PROVIDER_ERROR", kind: "TIMEOUT", retryable: true });
        await server.closed(index + 1);
      }
      expect(clock.pending).toBe(0);
    });

    test("T10: is left at once when the caller aborts, with the caller's own reason", async () => {
      await using server = await rawServer(stall);
      const model = client(server);
      const calls = [
        (signal: AbortSignal) => model.generate(HELLO, { signal }),
        (signal: AbortSignal) => streamed(model, HELLO, signal),
      ];
      for (const [index, call] of calls.entries()) {
        const controller = new AbortController();
        const failed = failureOf(call(controller.signal));
        await server.arrived(index + 1);
        controller.abort("enough");
        expect(await failed).toMatchObject({ code: "CANCELLED", reason: "enough" });
        expect(getEventListeners(controller.signal, "abort")).toEqual([]);
        await server.closed(index + 1);
      }
    });
  });

  describe("silence that is nobody's fault", () => {
    test("a reader that takes its time is not the server's silence", async () => {
      await using server = await rawServer((response) => {
        response.writeHead(200, STREAM).end(piece("a") + piece("b") + end("ab"));
      });
      const clock = virtualClock();
      const seen: string[] = [];
      for await (const event of client(server, { clock, idleTimeoutMs: 5_000 }).stream?.(HELLO) ?? []) {
        seen.push(event.type);
        await clock.advance(60_000);
      }
      expect(seen).toEqual(["text", "text", "finish"]);
      expect(clock.pending).toBe(0);
    });

    test("a server that says that it is still there is waited for", async () => {
      const clock = virtualClock();
      let pings = 0;
      await using server = await rawServer(async (response) => {
        response.writeHead(200, STREAM);
        for (; pings < 10; pings++) {
          response.write(": ping\n\n");
          await turn();
          await clock.advance(400);
        }
        response.end(piece("a") + end("a"));
      });
      const { response } = await streamed(client(server, { clock, idleTimeoutMs: 5_000 }));
      expect(response.message.content).toBe("a");
      expect(pings).toBe(10);
    });

    test("after the whole answer it costs the wait, not the answer", async () => {
      const clock = virtualClock();
      await using server = await rawServer(
        (response) => void response.writeHead(200, STREAM).write(last("a")),
      );
      const events: string[] = [];
      for await (const event of client(server, { clock, idleTimeoutMs: 5_000 }).stream?.(HELLO) ?? []) {
        events.push(event.type);
        if (event.type === "text") setImmediate(() => void clock.advance(10_000));
      }
      expect(events).toEqual(["text", "finish"]);
      await server.closed(1);
    });
  });

  describe("an abort", () => {
    test("is heard also where the given fetch is deaf to it", async () => {
      const controller = new AbortController();
      const fetch = (): Promise<Response> => {
        controller.abort("enough");
        return new Promise(() => undefined);
      };
      const model = client({ url: "http://127.0.0.1:9/v1" }, { fetch });
      expect(await failureOf(model.generate(HELLO, { signal: controller.signal }))).toMatchObject({
        code: "CANCELLED",
      });
    });

    test("of the platform's own fetch, which waits for 300 s, is told without the client's options", async () => {
      const cause = Object.assign(new Error("Headers Timeout Error"), { code: "UND_ERR_HEADERS_TIMEOUT" });
      const fetch = (): Promise<Response> => Promise.reject(new TypeError("fetch failed", { cause }));
      const model = client({ url: "http://127.0.0.1:9/v1" }, { fetch, idleTimeoutMs: 900_000 });
      const message = expect.stringMatching(
        /silent for longer than fetch itself waits .* a fetch of your own$/,
      );
      expect(await failureOf(model.generate(HELLO))).toMatchObject({ kind: "TIMEOUT", message });
    });

    test("before the call sends nothing", async () => {
      await using server = await rawServer((response) => void response.end("{}"));
      const signal = AbortSignal.abort("no");
      expect(await failureOf(client(server).generate(HELLO, { signal }))).toMatchObject({
        code: "CANCELLED",
        reason: "no",
      });
      expect(await failureOf(streamed(client(server), HELLO, signal))).toMatchObject({ code: "CANCELLED" });
      expect(server.bodies).toHaveLength(0);
    });

    test("by who reads a piece is what ends the call, whatever is wrong with the rest of the piece", async () => {
      await using server = await rawServer(
        (response) => void response.writeHead(200, STREAM).end(`${piece("a")}data: {oops}\n\n`),
      );
      const controller = new AbortController();
      const { signal } = controller;
      const read = async (): Promise<void> => {
        for await (const { type } of client(server).stream?.(HELLO, { signal }) ?? [])
          if (type === "text") controller.abort("enough");
      };
      expect(await failureOf(read())).toMatchObject({ code: "CANCELLED", reason: "enough" });
    });

    test("by a deadline is that deadline's error", async () => {
      await using server = await rawServer(() => undefined);
      const token = new CancellationToken();
      const failed = failureOf(client(server).generate(HELLO, { signal: token.signal }));
      await server.arrived(1);
      token.cancel(new DeadlineExceededError({ deadline: 1_000 }));
      expect(isRaviError(await failed, "DEADLINE_EXCEEDED")).toBe(true);
    });

    test.each([
      ["the rest is still to come", piece("a")],
      ["the rest is here already", piece("a") + piece("b") + end("b")],
    ])("between two events ends the stream with it, never silently: %s", async (_, bytes) => {
      await using server = await rawServer((response) => void response.writeHead(200, STREAM).write(bytes));
      const token = new CancellationToken();
      const seen: string[] = [];
      const failed = failureOf(
        (async () => {
          for await (const event of client(server).stream?.(HELLO, { signal: token.signal }) ?? []) {
            seen.push(event.type);
            token.cancel("enough");
          }
        })(),
      );
      expect(await failed).toBe(token.error);
      expect(seen).toEqual(["text"]);
      await server.closed(1);
    });

    test("after the answer is too late to matter, and no listener is left behind", async () => {
      await using server = await rawServer(
        (response) => void response.writeHead(200, STREAM).end(piece("a") + end("a")),
      );
      const controller = new AbortController();
      let listeners = 0;
      const { signal } = controller;
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
      signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
      expect((await streamed(client(server), HELLO, signal)).response.message.content).toBe("a");
      expect(listeners).toBe(0);
    });

    test("by leaving the loop lets go of the body of a fetch that does not heed its signal", async () => {
      const left = Promise.withResolvers<string>();
      const fetch = async (): Promise<Response> =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode(piece("a"))),
            cancel: () => left.resolve("left"),
          }),
          { headers: STREAM },
        );
      for await (const _ of client({ url: "http://127.0.0.1:9/v1" }, { fetch }).stream?.(HELLO) ?? []) break;
      expect(await Promise.race([left.promise, turn("kept")])).toBe("left");
    });

    test("by leaving the loop closes the connection", async () => {
      await using server = await rawServer(
        (response) => void response.writeHead(200, STREAM).write(piece("a")),
      );
      const { signal } = new AbortController();
      let seen = 0;
      for await (const _ of client(server).stream?.(HELLO, { signal }) ?? []) {
        seen++;
        break;
      }
      await server.closed(1);
      expect(seen).toBe(1);
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });
  });

  describe("a connection that breaks", () => {
    const RESETS: readonly (readonly [string, (response: ServerResponse) => void])[] = [
      ["before the headers", (response) => void response.socket?.resetAndDestroy()],
      [
        "after them",
        (response) =>
          void response.writeHead(200, STREAM).write(": hi\n\n", () => response.socket?.resetAndDestroy()),
      ],
      [
        "in the middle",
        (response) =>
          void response.writeHead(200, STREAM).write(piece("a"), () => response.socket?.destroy()),
      ],
      [
        "in the middle of a body",
        (response) => void response.writeHead(200, JSON_TYPE).write("{", () => response.socket?.destroy()),
      ],
    ];
    test.each(RESETS)("T10: %s is worth another try", async (_, reset) => {
      await using server = await rawServer(reset);
      const model = client(server);
      const { signal } = new AbortController();
      const lost = { kind: "SERVER_ERROR", retryable: true };
      expect(await failureOf(model.generate(HELLO, { signal }))).toMatchObject(lost);
      expect(await failureOf(streamed(model, HELLO, signal))).toMatchObject(lost);
      expect(server.bodies).toHaveLength(2);
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });

    test.each([
      ["once the answer is whole", ""],
      ["in an event after the whole answer", 'data: {"usage":{"prompt_tok'],
    ])("%s takes nothing away from it: asking again would cost it twice", async (_, rest) => {
      await using server = await rawServer(
        (response) =>
          void response
            .writeHead(200, STREAM)
            .write(last("a") + rest, () => response.socket?.resetAndDestroy()),
      );
      expect((await streamed(client(server))).response).toMatchObject({
        finishReason: "stop",
        message: { content: "a" },
      });
    });

    test("a server that goes on after [DONE] is not waited for", async () => {
      await using server = await rawServer(
        (response) => void response.writeHead(200, STREAM).write(piece("a") + end("a")),
      );
      expect((await streamed(client(server))).response.finishReason).toBe("stop");
      await server.closed(1);
    });

    test("T10: one that says [DONE] in the middle of its answer is not waited for either: it is incomplete", async () => {
      const clock = virtualClock();
      await using server = await rawServer(
        (response) => void response.writeHead(200, STREAM).write(piece("a") + DONE),
      );
      // The time stands still, so nothing is given up for its silence.
      const failure = await failureOf(streamed(client(server, { clock })));
      expect(failure).toMatchObject({ kind: "SERVER_ERROR", retryable: true });
      await server.closed(1);
    });

    test("connections are used again after a stream", async () => {
      const ports = new Set<number | undefined>();
      await using server = await rawServer((response, request) => {
        ports.add(request.socket.remotePort);
        response.writeHead(200, STREAM).end(piece("a") + end("a"));
      });
      const model = client(server);
      for (let n = 0; n < 5; n++) await streamed(model);
      expect(ports.size).toBeLessThan(5);
    });
  });

  describe("an answer without end", () => {
    const flood = (repeated: string, type: object) => (response: ServerResponse) => {
      response.writeHead(200, { ...type });
      const bytes = Buffer.from(repeated);
      const more = (): void => {
        while (!response.destroyed && response.write(bytes));
      };
      response.on("drain", more);
      more();
    };

    test("T10: a line of 50 MB is refused, streamed or not", async () => {
      await using server = await rawServer((response) => {
        response.writeHead(200, STREAM);
        const line = Buffer.alloc(1024 * 1024, "x");
        response.write("data: ");
        for (let n = 0; n < 50; n++) response.write(line);
        response.end("\n\n");
      });
      const model = client(server);
      for (const error of [await failureOf(model.generate(HELLO)), await failureOf(streamed(model))]) {
        expect(error).toMatchObject({
          kind: "SERVER_ERROR",
          retryable: false,
          message: expect.stringContaining("33554432"),
        });
      }
    });

    test("T10: an answer that is not streamed is measured in bytes, not in letters", async () => {
      const body = JSON.stringify({ pad: "é".repeat(17 * 1024 * 1024) });
      await using server = await rawServer((response) => void response.writeHead(200, JSON_TYPE).end(body));
      const failed = failureOf(client(server).generate(HELLO));
      expect(await failed).toMatchObject({
        message: expect.stringContaining("is longer than 33554432 bytes"),
      });
    });

    test.each([
      ["events", piece("x".repeat(1_000)), STREAM],
      ["comments", `: ${"x".repeat(1_000)}\n`, STREAM],
      ["JSON", " ".repeat(1_000), JSON_TYPE],
    ])(
      "T10: %s that never end are cut off at maxResponseBytes, and the connection is closed",
      async (_, repeated, type) => {
        await using server = await rawServer(flood(repeated, type));
        const model = client(server, { maxResponseBytes: 1_000_000 });
        expect(await failureOf(streamed(model))).toMatchObject({ kind: "SERVER_ERROR", retryable: false });
        await server.closed(1);
        expect(await failureOf(model.generate(HELLO))).toMatchObject({
          kind: "SERVER_ERROR",
          retryable: false,
        });
        await server.closed(2);
      },
    );
  });
});

test("an abort by who is told of a call that was held back to the end ends the stream too", async () => {
  // Until the arguments begin, more of its name may come. These never do.
  const call = { index: 0, id: "c1", function: { name: "look" } };
  const bytes = chunk({ tool_calls: [call] }) + chunk({}, "tool_calls") + DONE;
  await using server = await rawServer((response) => void response.writeHead(200, STREAM).end(bytes));
  const token = new CancellationToken();
  const { signal } = token;
  const seen: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { type } of clientOf(server, { api: "chat" }).stream?.(HELLO, { signal }) ?? []) {
      seen.push(type);
      token.cancel("enough");
    }
  };
  expect(await failureOf(read())).toBe(token.error);
  expect(seen).toEqual(["toolCall"]);
});
