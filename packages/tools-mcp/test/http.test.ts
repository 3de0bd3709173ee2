import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { type Clock, isCancellation, type TimerHandle } from "@ravi/kernel";
import { openMcp } from "@ravi/tools-mcp";
import { virtualClock } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { answer, events, fetched, httpServer, rawHttp, sessions } from "./http-server.ts";
import { ask, failureOf, told } from "./support.ts";

function offers(): McpServer {
  const server = new McpServer({ name: "offers", version: "1.0.0" });
  server.registerTool(
    "look_up",
    { description: "What a vendor asks.", inputSchema: z.object({ vendor: z.string() }) },
    ({ vendor }) => ({ content: [{ type: "text", text: `${vendor} asks $4980` }] }),
  );
  return server;
}

describe("a server over HTTP that was made with the official package", () => {
  test("its tools are called, with and without a session", async () => {
    const handler = createMcpHandler(offers);
    await using stateless = await httpServer(fetched(handler.fetch));
    await using one = await openMcp({ url: stateless.url });
    expect(await told(one, "look_up", { vendor: "Acme" })).toBe("Acme asks $4980");
    const kept = sessions(offers);
    await using stateful = await httpServer(kept.handle);
    const two = await openMcp({ url: stateful.url });
    expect(await told(two, "look_up", { vendor: "Acme" })).toBe("Acme asks $4980");
    expect(kept.open.size).toBe(1);
    await two.close();
    expect(kept.open.size).toBe(0);
  });

  test("T15: a change that it tells of is noticed", async () => {
    const kept = sessions(offers);
    await using http = await httpServer(kept.handle);
    await using opened = await openMcp({ url: http.url });
    await kept.listening;
    const [server] = kept.open.values();
    server?.registerTool("wipe", { description: "Deletes everything." }, () => ({ content: [] }));
    // The notification comes over another connection, so one of the next calls is the first that knows.
    for (let n = 0; n < 1_000 && opened.changes.length === 0; n++)
      expect(await told(opened, "look_up", { vendor: "Acme" })).toBe("Acme asks $4980");
    expect(opened.changes).toEqual([{ tool: "wipe", changed: ["new"] }]);
  });

  test("T15: a change that was not heard of is noticed, if the stream over which it would have been told has ended", async () => {
    let description = "as it was";
    const streams: ServerResponse[] = [];
    const listening = Promise.withResolvers<void>();
    const handle = rawHttp(
      (call) => answer(call, "ok"),
      () => {},
      () => [{ name: "read", description, inputSchema: { type: "object" } }],
    );
    await using http = await httpServer((request, response) => {
      if (request.method !== "GET") return handle(request, response);
      if (streams.push(events(response)) > 1) return response.end();
      response.write(": hello\n\n");
      return listening.resolve();
    });
    await using raw = await openMcp({ url: http.url });
    await listening.promise;
    description = "something else";
    expect(await told(raw, "read")).toBe("ok");
    streams[0]?.end();
    for (let n = 0; n < 1_000 && raw.changes.length === 0; n++) await told(raw, "read");
    expect(await told(raw, "read")).toMatch(/changed its description/);
  });

  test.each([
    [404, "no such session"],
    // As the official examples do, and many servers that were made after them.
    [400, '{"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'],
    [400, '{"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}'],
  ])(
    "a session that the server has forgotten is begun again at the next call: %i %s",
    async (status, text) => {
      const kept = sessions(offers, () => new Response(text, { status }));
      await using http = await httpServer(kept.handle);
      await using opened = await openMcp({ url: http.url });
      kept.open.clear();
      expect((await ask(opened, "look_up", { vendor: "Acme" })).content).toContain(text);
      expect(await told(opened, "look_up", { vendor: "Acme" })).toBe("Acme asks $4980");
      expect(kept.open.size).toBe(1);
    },
  );

  test("a call that fails late, because its session was forgotten, does not end the next session", async () => {
    const arrived = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const released = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let session = 0;
    let old = 0;
    const handle = rawHttp(async (call) => {
      if (call.request.headers["mcp-session-id"] === "1") {
        const isSecond = old++ === 1;
        if (isSecond) arrived[0].resolve();
        await (isSecond ? released[0] : arrived[0]).promise;
        return call.response.writeHead(404).end();
      }
      arrived[1].resolve();
      await released[1].promise;
      return answer(call, "ok");
    });
    await using http = await httpServer(async (request, response) => {
      if (request.headers["mcp-session-id"] === undefined) response.setHeader("mcp-session-id", ++session);
      // Until the goodbye is answered, calls of the first session may still be.
      if (request.method === "DELETE") await released[1].promise;
      return handle(request, response);
    });
    await using raw = await openMcp({ url: http.url });
    const early = [ask(raw, "read"), ask(raw, "read")];
    expect(await Promise.race(early)).toMatchObject({ isError: true });
    const next = told(raw, "read");
    await arrived[1].promise;
    released[0].resolve();
    expect(await Promise.all(early)).toMatchObject([{ isError: true }, { isError: true }]);
    released[1].resolve();
    expect(await next).toBe("ok");
    expect(await told(raw, "read")).toBe("ok");
    expect(session).toBe(2);
  });
});

describe("headers and tokens", () => {
  test("are sent with each request, a token as the function says then", async () => {
    const seen: unknown[] = [];
    const handle = rawHttp((call) => answer(call, "ok"));
    await using http = await httpServer((request, response) => {
      seen.push([request.headers["x-team"], request.headers["authorization"]]);
      return handle(request, response);
    });
    let count = 0;
    await using raw = await openMcp({
      url: http.url,
      headers: { "x-team": "blue" },
      token: () => `token-${++count}`,
    });
    await told(raw, "read");
    expect(seen.length).toBeGreaterThanOrEqual(4);
    expect(seen).toEqual(seen.map((_, at) => ["blue", `Bearer token-${at + 1}`]));
  });

  test.each([null, 7, { access_token: "canary-in-token" }])(
    "a token that is no text is refused and not shown: %j",
    async (token) => {
      await using http = await httpServer(rawHttp((call) => answer(call, "ok")));
      const where = { url: http.url, token: () => token };
      const failure = await failureOf(Reflect.apply(openMcp, undefined, [where]));
      expect(failure).toMatchObject({ code: "INVALID_VALUE", field: "server.token()" });
      expect(failure.message).not.toContain("canary");
    },
  );

  test("T13: are not sent along with a redirect", async () => {
    const stolen: unknown[] = [];
    await using thief = await httpServer((request, response) => {
      stolen.push(request.headers);
      response.end();
    });
    await using http = await httpServer((_, response) =>
      response.writeHead(307, { location: thief.url }).end(),
    );
    const failure = await failureOf(openMcp({ url: http.url, headers: { "x-api-key": "canary-in-header" } }));
    expect(failure).toMatchObject({ code: "TOOL_ERROR" });
    expect(stolen).toEqual([]);
  });
});

describe("T15: a server over HTTP costs only an error of that call", () => {
  test.each<[string, Parameters<typeof rawHttp>[0], RegExp]>([
    ["cuts its answer off", ({ response }) => events(response).end(": wait\n\n"), /answer was cut off/],
    [
      "breaks off in the middle",
      ({ response }) => events(response).write('data: {"a', () => response.destroy()),
      /answer was cut off/,
    ],
    ["breaks off before it answers", ({ response }) => response.destroy(), /could not be called/],
    [
      "answers with a page",
      ({ response }) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>"),
      /could not be called/,
    ],
    ["fails", ({ response }) => response.writeHead(500).end("out of cheese"), /out of cheese/],
    [
      "answers with half of its JSON",
      ({ response }) => response.setHeader("content-type", "application/json").end('{"jsonrpc":'),
      /could not be called/,
    ],
    [
      "floods with events",
      ({ response }) =>
        pour(events(response), 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'),
      /was lost \(it sent more than 10000 messages within 10 s\)/,
    ],
    [
      "sends an event without end",
      ({ response }) => pour(events(response), `data: ${"x".repeat(100_000)}\n`),
      /was lost \(it sent a message of more than 16777216 bytes\)/,
    ],
    [
      "sends an answer without end",
      ({ response }) => pour(response.setHeader("content-type", "application/json"), "x".repeat(100_000)),
      /was lost \(it sent a message of more than 16777216 bytes\)/,
    ],
    [
      "sends comments without end",
      ({ response }) => pour(events(response), `:${"x".repeat(100_000)}\n\n`),
      /was lost \(it sent more than 134217728 bytes within 10 s\)/,
    ],
  ])("that %s", async (_, call, said) => {
    let isFirst = true;
    const handle = rawHttp((given) => {
      if (!isFirst) return answer(given, "ok");
      isFirst = false;
      return call(given);
    });
    await using http = await httpServer(handle);
    const clock = virtualClock();
    await using raw = await openMcp({ url: http.url }, { clock });
    const result = await ask(raw, "read");
    expect(result).toMatchObject({ isError: true, content: expect.stringMatching(said) });
    await clock.advance(10_000);
    expect(await told(raw, "read")).toBe("ok");
  });

  test("that is not there", async () => {
    const http = await httpServer(rawHttp((call) => answer(call, "ok")));
    await using raw = await openMcp({ url: http.url });
    await http[Symbol.asyncDispose]();
    const host = new URL(http.url).host;
    // A connection that was kept may be the one that is gone.
    expect(await told(raw, "read")).toMatch(
      /^error: the MCP server "raw" could not be called: fetch failed \((?:ECONNREFUSED|UND_ERR_SOCKET)\); the call may/,
    );
    const failure = await failureOf(openMcp({ url: http.url }));
    expect(failure.message).toBe(`the MCP server ${host} could not be reached: fetch failed (ECONNREFUSED)`);
  });
});

describe("T4: a cancelled call over HTTP", () => {
  test.each(["before its headers", "in the middle of its stream"])(
    "%s ends before the server answers, the server is told, and the connection ends",
    async (when) => {
      const arrived = Promise.withResolvers<{ readonly gone: Promise<unknown> }>();
      const cancelled = Promise.withResolvers<number>();
      const handle = rawHttp(({ response }) => {
        if (when !== "before its headers") events(response).write(": working\n\n");
        arrived.resolve({ gone: once(response, "close") });
      }, cancelled.resolve);
      await using http = await httpServer(handle);
      await using raw = await openMcp({ url: http.url });
      const controller = new AbortController();
      const call = ask(raw, "read", {}, { signal: controller.signal });
      const { gone } = await arrived.promise;
      controller.abort();
      expect(isCancellation(await failureOf(call))).toBe(true);
      expect(await cancelled.promise).toBeGreaterThan(0);
      await gone;
    },
  );

  test("so does a stream that was opened again for it", async () => {
    const resumed = Promise.withResolvers<{ readonly gone: Promise<unknown> }>();
    const handle = rawHttp(({ response }) => events(response).end("id: 1\ndata:\n\n"));
    await using http = await httpServer((request, response) => {
      if (request.headers["last-event-id"] !== "1") return handle(request, response);
      events(response).write(": working\n\n");
      return resumed.resolve({ gone: once(response, "close") });
    });
    const clock = virtualClock();
    const waiting = Promise.withResolvers<void>();
    const watched: Clock = {
      now: () => clock.now(),
      setTimer: (callback, delayMs) => {
        if (delayMs === 1_000) waiting.resolve();
        return clock.setTimer(callback, delayMs);
      },
    };
    await using raw = await openMcp({ url: http.url }, { clock: watched });
    const controller = new AbortController();
    const call = ask(raw, "read", {}, { signal: controller.signal });
    await waiting.promise;
    await clock.advance(1_000);
    const { gone } = await resumed.promise;
    controller.abort();
    expect(isCancellation(await failureOf(call))).toBe(true);
    await gone;
  });

  test("a server that is closed leaves no connection, and is not waited for when it says nothing to the goodbye", async () => {
    const arrived = Promise.withResolvers<void>();
    const handle = rawHttp(() => arrived.resolve());
    const asked = Promise.withResolvers<void>();
    await using http = await httpServer((request, response) => {
      response.setHeader("mcp-session-id", "s");
      if (request.method === "DELETE") return asked.resolve();
      return handle(request, response);
    });
    const clock = virtualClock();
    const raw = await openMcp({ url: http.url }, { clock });
    const call = ask(raw, "read");
    await arrived.promise;
    const closing = raw.close();
    await asked.promise;
    await clock.advance(2_000);
    await closing;
    expect((await call).isError).toBe(true);
    expect(clock.pending).toBe(0);
    // What is left of the sockets would keep the server open.
    http.server.closeIdleConnections();
    http.server.close();
    await once(http.server, "close");
  });
});

test("T4: a server that is closed is not waited for, nor is a token for its goodbye", async () => {
  const handle = rawHttp((call) => answer(call, "ok"));
  await using http = await httpServer((request, response) => {
    response.setHeader("mcp-session-id", "s");
    return handle(request, response);
  });
  const asked = Promise.withResolvers<void>();
  let token = async (): Promise<string> => "token-1";
  const clock = virtualClock();
  const raw = await openMcp({ url: http.url, token: () => token() }, { clock });
  token = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  const closing = raw.close();
  await asked.promise;
  await clock.advance(2_000);
  await closing;
  expect(clock.pending).toBe(0);
});

/** A clock that goes on as soon as somebody waits for something else than the answer to a notice, and the delays that were waited for. */
function hurrying(): { readonly clock: Clock; readonly delays: number[] } {
  const clock = virtualClock();
  const delays: number[] = [];
  const setTimer = (callback: () => void, delayMs: number): TimerHandle => {
    const timer = clock.setTimer(callback, delayMs);
    if (delayMs === 30_000) return timer;
    delays.push(delayMs);
    void clock.advance(delayMs);
    return timer;
  };
  return { clock: { now: () => clock.now(), setTimer }, delays };
}

test("T15: a stream is not opened again at once, however often the server ends it and asks for that", async () => {
  const { clock, delays } = hurrying();
  const handle = rawHttp((call) => answer(call, "ok"));
  const often = Promise.withResolvers<void>();
  let streams = 0;
  await using http = await httpServer((request, response) => {
    if (request.method !== "GET") return handle(request, response);
    if (++streams === 3) often.resolve();
    return events(response).end("retry: 0\ndata:\n\n");
  });
  await using _ = await openMcp({ url: http.url }, { clock });
  await often.promise;
  expect(delays.slice(0, 2)).toEqual([1_000, 1_000]);
});

describe("a call that was refused before it was looked at was not carried out, and nothing else is said", () => {
  type Case = [status: number, headers: Readonly<Record<string, string>>, said: string];
  const refused = (status: number): Case => [
    status,
    {},
    `Error POSTing to endpoint: out of cheese (HTTP ${status})`,
  ];

  test.each<Case>([
    [401, {}, "Unauthorized"],
    [
      403,
      { "www-authenticate": 'Bearer error="insufficient_scope", scope="pay"' },
      'Insufficient scope: required "pay"',
    ],
    ...[403, 405, 406, 413, 415, 429].map(refused),
    [500, {}, "Error POSTing to endpoint: out of cheese (HTTP 500); the call may have been carried out"],
  ])("%i %j", async (status, headers, said) => {
    const handle = rawHttp(({ response }) => response.writeHead(status, headers).end("out of cheese"));
    await using http = await httpServer(handle);
    await using raw = await openMcp({ url: http.url, token: () => "token-1" });
    expect(await told(raw, "read")).toBe(`error: the MCP server "raw" could not be called: ${said}`);
  });

  test("nor was one without a token, which is not sent", async () => {
    let calls = 0;
    const handle = rawHttp((call) => {
      calls++;
      answer(call, "ok");
    });
    await using http = await httpServer(handle);
    let token = (): unknown => "token-1";
    await using raw = await openMcp({ url: http.url, token: () => token() as string });
    token = () => Promise.reject(new Error("the vault is closed to sk-canary0123456789abcdef"));
    const { host } = new URL(http.url);
    const nothing = `nothing was sent to the MCP server ${host}: server.token() failed: the vault is closed`;
    const failed = await told(raw, "read");
    expect(failed).toContain(nothing);
    expect(failed).not.toContain("canary");
    expect((await failureOf(openMcp({ url: http.url, token: () => token() as string }))).message).toContain(
      nothing,
    );
    token = () => 7;
    expect(await told(raw, "read")).toMatch(
      /: server\.token\(\) is [^;]*; expected a string, or undefined for none$/,
    );
    token = () => "token-2";
    expect([await told(raw, "read"), calls]).toEqual(["ok", 1]);
  });

  test("where a server is reached that speaks another protocol, the status is told, which is all there is", async () => {
    await using http = await httpServer((_, response) => response.writeHead(405).end());
    expect((await failureOf(openMcp({ url: http.url }))).message).toMatch(/\(HTTP 405\)$/);
  });
});

describe("T15: of an answer that was cut off it is said that the call may have been carried out", () => {
  test.each<[string, string, number]>([
    ["without an id", "data:\n\n", 405],
    ["after an id that is empty", "id:\ndata:\n\n", 405],
    ["after a field whose name only begins like that of an id", "idle: 1\ndata:\n\n", 405],
    ["and cannot be asked for again", "id: 1\ndata:\n\n", 405],
    ["and is asked for again in vain", "id: 1\ndata:\n\n", 500],
  ])("%s", async (_, text, status) => {
    const handle = rawHttp(({ response }) => events(response).end(text));
    await using http = await httpServer((request, response) =>
      request.method === "GET" ? response.writeHead(status).end() : handle(request, response),
    );
    await using raw = await openMcp({ url: http.url }, { clock: hurrying().clock });
    expect(await told(raw, "read")).toBe(
      'error: the MCP server "raw" could not be called: its answer was cut off; the call may have been carried out',
    );
  });
});

test("T4: no timer is left for streams that were to be opened again, however long the server says that takes", async () => {
  const ended = (response: ServerResponse): unknown =>
    events(response).end("id: 1\nretry: 900000\ndata:\n\n");
  const handle = rawHttp(({ response }) => ended(response));
  await using http = await httpServer((request, response) =>
    request.method === "GET" ? ended(response) : handle(request, response),
  );
  const clock = virtualClock();
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  const watched: Clock = {
    now: () => clock.now(),
    setTimer: (callback, delayMs) => {
      if (delayMs === 900_000 && ++waiting === 2) both.resolve();
      return clock.setTimer(callback, delayMs);
    },
  };
  const raw = await openMcp({ url: http.url }, { clock: watched });
  const call = ask(raw, "read");
  await both.promise;
  await raw.close();
  expect((await call).isError).toBe(true);
  expect(clock.pending).toBe(0);
});

/** Writes as fast as it is read, until it is left. */
function pour(response: ServerResponse, text: string): void {
  const more = (): void => {
    if (response.destroyed) return;
    while (response.write(text)) continue;
  };
  response.on("drain", more).on("error", () => {});
  more();
}
