import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { isCancellation } from "@ravi/kernel";
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

  test("a session that the server has forgotten is begun again at the next call", async () => {
    const kept = sessions(offers);
    await using http = await httpServer(kept.handle);
    await using opened = await openMcp({ url: http.url });
    kept.open.clear();
    expect((await ask(opened, "look_up", { vendor: "Acme" })).content).toMatch(/no such session/);
    expect(await told(opened, "look_up", { vendor: "Acme" })).toBe("Acme asks $4980");
    expect(kept.open.size).toBe(1);
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

/** Writes as fast as it is read, until it is left. */
function pour(response: ServerResponse, text: string): void {
  const more = (): void => {
    if (response.destroyed) return;
    while (response.write(text)) continue;
  };
  response.on("drain", more).on("error", () => {});
  more();
}
