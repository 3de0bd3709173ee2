import { getEventListeners } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { CancellationToken, DeadlineExceededError, isRaviError, type LLMClient } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import {
  byteServer,
  client,
  close,
  ended,
  event,
  failureOf,
  HELLO,
  START,
  STOP,
  streamed,
  text,
} from "./support.ts";

const STREAM = { "content-type": "text/event-stream" };
const JSON_TYPE = { "content-type": "application/json" };
/** The beginning of a text, which stays open. */
const BEGUN = START + text(0, "a").replace(close(0), "");
const ANSWER = START + text(0, "a") + ended();

const WAYS: readonly (readonly [string, (model: LLMClient, signal?: AbortSignal) => Promise<unknown>])[] = [
  ["generate", (model, signal) => model.generate(HELLO, { signal })],
  ["stream", (model, signal) => streamed(model, HELLO, signal)],
];

type Write = (response: ServerResponse) => void;

const STALLS: readonly (readonly [string, Write])[] = [
  ["before its headers", () => undefined],
  ["after its headers", (response) => response.writeHead(200, STREAM).flushHeaders()],
  ["in the middle of a stream", (response) => void response.writeHead(200, STREAM).write(BEGUN)],
  ["in the middle of a line", (response) => void response.writeHead(200, STREAM).write('data: {"type"')],
  ["in the middle of a body", (response) => void response.writeHead(200, JSON_TYPE).write('{"type":')],
  ["in the middle of a refusal", (response) => void response.writeHead(500, JSON_TYPE).write('{"type":')],
];

describe.each(STALLS)("a server that falls silent %s", (where, stall) => {
  test.each(WAYS)("T10: %s gives up after idleTimeoutMs, and the connection is closed", async (_, way) => {
    await using server = await byteServer(stall);
    const clock = virtualClock();
    const answered = Promise.withResolvers<void>();
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await globalThis.fetch(input, init);
      answered.resolve();
      return response;
    };
    const failed = failureOf(way(client(server, { clock, idleTimeoutMs: 5_000, fetch })));
    await (where === "before its headers" ? server.nth(0) : answered.promise);
    await turn();
    // What came just now began the wait anew, and a timer that fires early is set again.
    await clock.advance(5_000);
    await clock.advance(5_000);
    expect(await failed).toMatchObject({ code: "PROVIDER_ERROR", kind: "TIMEOUT", retryable: true });
    await (
      await server.nth(0)
    ).over;
    expect(clock.pending).toBe(0);
  });

  test.each(WAYS)(
    "T10: %s is left at once when the caller aborts, with the caller's reason",
    async (_, way) => {
      await using server = await byteServer(stall);
      const controller = new AbortController();
      const failed = failureOf(way(client(server), controller.signal));
      const { over } = await server.nth(0);
      controller.abort("enough");
      expect(await failed).toMatchObject({ code: "CANCELLED", reason: "enough" });
      expect(getEventListeners(controller.signal, "abort")).toEqual([]);
      await over;
    },
  );
});

describe("silence that is nobody's fault", () => {
  test("a reader that takes its time is not the server's silence", async () => {
    await using server = await byteServer((response) =>
      response.writeHead(200, STREAM).end(START + text(0, "a", "b") + ended()),
    );
    const clock = virtualClock();
    const seen: string[] = [];
    for await (const { type } of client(server, { clock, idleTimeoutMs: 5_000 }).stream?.(HELLO) ?? []) {
      seen.push(type);
      await clock.advance(60_000);
    }
    expect(seen).toEqual(["text", "text", "finish"]);
    expect(clock.pending).toBe(0);
  });

  test("a server that pings is waited for", async () => {
    const clock = virtualClock();
    let pings = 0;
    await using server = await byteServer(async (response) => {
      response.writeHead(200, STREAM);
      for (; pings < 10; pings++) {
        response.write(event("ping"));
        await turn();
        await clock.advance(400);
      }
      response.end(ANSWER);
    });
    const { response } = await streamed(client(server, { clock, idleTimeoutMs: 5_000 }));
    expect([response.message.content, pings]).toEqual(["a", 10]);
  });
});

describe("an abort", () => {
  test("is heard also where the given fetch is deaf to it", async () => {
    const controller = new AbortController();
    const fetch = (): Promise<Response> => {
      controller.abort("enough");
      return new Promise(() => undefined);
    };
    const model = client({ url: "http://127.0.0.1:9" }, { fetch });
    const failed = failureOf(model.generate(HELLO, { signal: controller.signal }));
    expect(await failed).toMatchObject({ code: "CANCELLED" });
  });

  test.each(WAYS)("before the call sends nothing by %s", async (_, way) => {
    await using server = await byteServer((response) => response.end("{}"));
    const failed = failureOf(way(client(server), AbortSignal.abort("no")));
    expect(await failed).toMatchObject({ code: "CANCELLED", reason: "no" });
    expect(server.received).toHaveLength(0);
  });

  test("by a deadline is that deadline's error", async () => {
    await using server = await byteServer(() => undefined);
    const token = new CancellationToken();
    const failed = failureOf(client(server).generate(HELLO, { signal: token.signal }));
    await server.nth(0);
    token.cancel(new DeadlineExceededError({ deadline: 1_000 }));
    expect(isRaviError(await failed, "DEADLINE_EXCEEDED")).toBe(true);
  });

  test.each([
    ["the rest is still to come", BEGUN],
    ["the rest is here already", START + text(0, "a", "b") + ended()],
  ])("between two events ends the stream with it, never silently: %s", async (_, bytes) => {
    await using server = await byteServer((response) => response.writeHead(200, STREAM).write(bytes));
    const token = new CancellationToken();
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { type } of client(server).stream?.(HELLO, { signal: token.signal }) ?? []) {
        seen.push(type);
        token.cancel("enough");
      }
    };
    expect(await failureOf(read())).toBe(token.error);
    expect(seen).toEqual(["text"]);
    await (
      await server.nth(0)
    ).over;
  });

  test("by leaving the loop closes the connection", async () => {
    await using server = await byteServer((response) => response.writeHead(200, STREAM).write(BEGUN));
    const { signal } = new AbortController();
    let seen = 0;
    for await (const _ of client(server).stream?.(HELLO, { signal }) ?? []) {
      seen++;
      break;
    }
    await (
      await server.nth(0)
    ).over;
    expect(seen).toBe(1);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("a connection that breaks", () => {
  const RESETS: readonly (readonly [string, Write])[] = [
    ["before the headers", (response) => void response.socket?.resetAndDestroy()],
    [
      "after them",
      (response) =>
        void response.writeHead(200, STREAM).write(": hi\n\n", () => response.socket?.resetAndDestroy()),
    ],
    [
      "in the middle",
      (response) => void response.writeHead(200, STREAM).write(BEGUN, () => response.socket?.destroy()),
    ],
    [
      "in the middle of a body",
      (response) => void response.writeHead(200, JSON_TYPE).write("{", () => response.socket?.destroy()),
    ],
    [
      "before the reason",
      (response) =>
        void response.writeHead(200, STREAM).write(START + text(0, "a"), () => response.socket?.destroy()),
    ],
  ];

  test.each(RESETS)("T10: %s is worth another try, and is not tried by itself", async (_, reset) => {
    await using server = await byteServer(reset);
    const { signal } = new AbortController();
    for (const [, way] of WAYS) {
      const error = await failureOf(way(client(server), signal));
      expect(error).toMatchObject({ kind: "SERVER_ERROR", retryable: true });
    }
    expect(server.received).toHaveLength(2);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test.each([
    ["whole", ANSWER],
    ["known to have ended", ANSWER.slice(0, -50)],
  ])(
    "once the answer is %s takes nothing away from it: asking again would cost it twice",
    async (_, bytes) => {
      await using server = await byteServer((response) =>
        response.writeHead(200, STREAM).write(bytes, () => response.socket?.resetAndDestroy()),
      );
      expect((await streamed(client(server))).response).toMatchObject({ message: { content: "a" } });
    },
  );

  test("silence after the reason costs the wait, not the answer; an abort is an abort", async () => {
    await using server = await byteServer((response) =>
      response.writeHead(200, STREAM).write(ANSWER.slice(0, -50)),
    );
    const clock = virtualClock();
    const events: string[] = [];
    for await (const one of client(server, { clock, idleTimeoutMs: 5_000 }).stream?.(HELLO) ?? []) {
      events.push(one.type);
      if (one.type === "text") setImmediate(() => void clock.advance(10_000));
    }
    expect(events).toEqual(["text", "finish"]);
    const controller = new AbortController();
    const reading = async (): Promise<void> => {
      for await (const _ of client(server).stream?.(HELLO, { signal: controller.signal }) ?? [])
        setImmediate(() => controller.abort("enough"));
    };
    expect(await failureOf(reading())).toMatchObject({ code: "CANCELLED", reason: "enough" });
  });

  test("a server that goes on after OpenAI's mark of the end is not waited for", async () => {
    const bytes = `${ANSWER.replace(STOP, "")}data: [DONE]\n\n`;
    await using server = await byteServer((response) => response.writeHead(200, STREAM).write(bytes));
    expect((await streamed(client(server))).response.finishReason).toBe("stop");
  });

  test("a server that goes on after its end is not waited for", async () => {
    await using server = await byteServer((response) => response.writeHead(200, STREAM).write(ANSWER));
    expect((await streamed(client(server))).response.finishReason).toBe("stop");
    await (
      await server.nth(0)
    ).over;
  });

  test("connections are used again after a stream", async () => {
    await using server = await byteServer((response) => response.writeHead(200, STREAM).end(ANSWER));
    const model = client(server);
    for (let n = 0; n < 5; n++) await streamed(model);
    expect(new Set(server.received.map(({ port }) => port)).size).toBeLessThan(5);
  });
});

describe("an answer without end", () => {
  test("T10: a line of 50 MB is refused, streamed or not", async () => {
    await using server = await byteServer((response) => {
      response.writeHead(200, STREAM).write("data: ");
      const megabyte = Buffer.alloc(1024 * 1024, "x");
      for (let n = 0; n < 50; n++) response.write(megabyte);
      response.end("\n\n");
    });
    for (const [, way] of WAYS) {
      expect(await failureOf(way(client(server)))).toMatchObject({
        kind: "SERVER_ERROR",
        retryable: false,
        message: expect.stringContaining("33554432"),
      });
    }
  });

  test("T10: an answer that is not streamed is measured in bytes, not in letters", async () => {
    const body = JSON.stringify({ pad: "é".repeat(17 * 1024 * 1024) });
    await using server = await byteServer((response) => response.writeHead(200, JSON_TYPE).end(body));
    const failed = failureOf(client(server).generate(HELLO));
    expect(await failed).toMatchObject({ message: expect.stringContaining("is longer than 33554432 bytes") });
  });

  test.each([
    ["events", event("ping", { pad: "x".repeat(1_000) }), STREAM],
    ["comments", `: ${"x".repeat(1_000)}\n`, STREAM],
    ["one event of many lines", `data: ${"x".repeat(1_000)}\n`, STREAM],
    ["JSON", " ".repeat(1_000), JSON_TYPE],
  ])("T10: %s that never end are cut off, and the connection is closed", async (_, bytes, type) => {
    await using server = await byteServer((response) => {
      response.writeHead(200, type);
      const more = (): void => {
        while (!response.destroyed && response.write(bytes));
      };
      response.on("drain", more);
      more();
    });
    for (const [n, [, way]] of WAYS.entries()) {
      const failed = failureOf(way(client(server, { maxResponseBytes: 1_000_000 })));
      expect(await failed).toMatchObject({ kind: "SERVER_ERROR", retryable: false });
      await (
        await server.nth(n)
      ).over;
    }
  });
});
