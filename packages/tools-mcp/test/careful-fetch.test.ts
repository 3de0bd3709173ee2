import { json } from "node:stream/consumers";
import { openMcp } from "@ravi/tools-mcp";
import { virtualClock } from "@ravi/testing";
import { expect, test } from "vitest";
import { carefulFetch } from "../src/http/careful-fetch.ts";
import { FloodGate } from "../src/open/flood-gate.ts";
import { failureOf } from "./support.ts";
import { httpServer } from "./http-server.ts";

test("T4: after many requests, no listener is left on the signal of the connection, and no timer", async () => {
  let listeners = 0;
  const watched = new Proxy(new AbortController().signal, {
    get: (signal, name) => {
      if (name === "addEventListener") listeners++;
      if (name === "removeEventListener") listeners--;
      const value: unknown = Reflect.get(signal, name, signal);
      return typeof value === "function" ? value.bind(signal) : value;
    },
  });
  let asked = 0;
  await using http = await httpServer((_, response) => {
    // With a body, without one, and broken off.
    const kind = asked++ % 3;
    if (kind === 2) response.destroy();
    else response.writeHead(kind === 0 ? 200 : 204).end();
  });
  const clock = virtualClock();
  const gate = new FloodGate(clock);
  const send = carefulFetch({ gate, clock, noticeTimeoutMs: 30_000, onFlood: () => {} });
  for (let n = 0; n < 30; n++) {
    const method = n % 2 === 0 ? "GET" : "POST";
    await send(http.url, { method, signal: watched })
      .then((response) => response.text())
      .catch(() => "");
  }
  expect(asked).toBeGreaterThanOrEqual(30);
  expect(listeners).toBe(0);
  expect(clock.pending).toBe(0);
});

test("T15: a server that says nothing to a notice is not waited for without end", async () => {
  const told = Promise.withResolvers<void>();
  await using http = await httpServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, params } = (await json(request)) as { id?: number; params: { protocolVersion: string } };
    if (id === undefined) return told.resolve();
    const { protocolVersion } = params;
    const result = {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "mute", version: "1" },
    };
    response.setHeader("content-type", "application/json");
    return response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const clock = virtualClock();
  const failing = failureOf(openMcp({ url: http.url }, { clock }));
  await told.promise;
  await clock.advance(30_000);
  expect((await failing).message).toMatch(/could not be reached: no answer$/);
  expect(clock.pending).toBe(0);
});
