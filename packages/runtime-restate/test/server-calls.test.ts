import { getEventListeners } from "node:events";
import { createServer } from "node:http";
import { inspect } from "node:util";
import { InvalidValueError } from "@ravi/kernel";
import { describe, expect, onTestFinished, test } from "vitest";
import { Admin } from "../src/client/admin.ts";
import { fetchStored, store } from "../src/execution/bodies.ts";
import { Ingress } from "../src/ingress.ts";
import { pause } from "../src/pause.ts";

const target = { service: "RaviRoot", key: "run/hire:a#1", handler: "admit" };

const never = new AbortController().signal;

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

test("R24: what did not arrive is sent again, under the same name, until it does", async () => {
  const urls: string[] = [];
  const answers = [
    () => Promise.reject(new TypeError("fetch failed")),
    status(503),
    status(404),
    status(200, '{"ok":1}'),
  ];
  const send = (async (url: string) => {
    urls.push(url);
    return answers.shift()?.();
  }) as typeof fetch;
  const ingress = new Ingress({ url: "http://localhost:8080/", fetch: send });
  expect(await ingress.call(target, {}, never)).toEqual({ ok: 1 });
  expect(new Set(urls)).toEqual(new Set(["http://localhost:8080/RaviRoot/run%2Fhire%3Aa%231/admit"]));
  expect(urls).toHaveLength(4);
  expect(getEventListeners(never, "abort")).toEqual([]);
});

test("R9: a pause ends with its signal, and leaves nothing on one that goes on", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  await pause(1, signal);
  expect(getEventListeners(signal, "abort")).toEqual([]);
  const long = pause(3_600_000, signal);
  controller.abort();
  await long;
  await pause(3_600_000, signal);
});

test("R24: a refusal is an error at once, and nobody waits for an answer that nobody needs", async () => {
  const refused = new Ingress({ url: "http://localhost:8080", fetch: status(500, "no") });
  await expect(refused.call(target, {}, never)).rejects.toMatchObject({ code: "TOOL_ERROR" });
  const gone = new Ingress({
    url: "http://localhost:8080",
    fetch: () => Promise.reject(new Error("down")),
  });
  await expect(gone.call(target, {}, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
  expect(() => new Ingress({ url: "localhost" })).toThrow(/ingress/);
});

test("an address with a password is refused, and is in no error", () => {
  for (const url of ["http://me:canary-4711@localhost:8080", "http//me:canary-4711@localhost"]) {
    const refused = thrownBy(() => new Ingress({ url }));
    expect(refused).toBeInstanceOf(InvalidValueError);
    expect(inspect(refused)).not.toContain("canary");
    expect(inspect(thrownBy(() => new Admin({ url })))).not.toContain("canary");
  }
});

test("T10: a redirect is not followed, and the key goes to nobody else", async () => {
  const headers = { "x-api-key": "canary-4711" };
  const seen: unknown[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers);
    response.end("{}");
  });
  const portOf = (server: ReturnType<typeof createServer>): number => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const server = createServer((_request, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${portOf(elsewhere)}/` }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${portOf(server)}`;
  const redirected = {
    code: "TOOL_ERROR",
    message: expect.stringMatching(/answered with a redirect \(status 307\)/),
  };
  const ingress = new Ingress({ url, headers });
  await expect(ingress.call(target, {}, never)).rejects.toMatchObject(redirected);
  await ingress.whenOver("RaviWatcher", "r", never);
  await expect(new Admin({ url, headers }).list()).rejects.toMatchObject(redirected);
  for (const one of [server, elsewhere]) await new Promise((resolve) => one.close(resolve));
  expect(seen).toEqual([]);
});

test.each([".", ".."])("a run named %s is refused: its address would be another's", async (key) => {
  const asked: unknown[] = [];
  const send: typeof fetch = async (url) => {
    asked.push(url);
    return new Response("{}");
  };
  const ingress = new Ingress({ url: "http://localhost:8080", fetch: send });
  const named = { ...target, key };
  await expect(ingress.call(named, {}, never)).rejects.toMatchObject({ field: "runId" });
  await expect(ingress.tell(named, {}, never)).rejects.toThrow(/runId/);
  await expect(ingress.whenOver("RaviExecution", key, never)).rejects.toThrow(/runId/);
  expect(asked).toEqual([]);
});

test("what is done to a run is done to its helpers, and not to a run whose name begins like it", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      asked.push((await Array.fromAsync(request)).join(""));
      response.end('{"rows":[]}');
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : address;
  await new Admin({ url: `http://127.0.0.1:${port}` }).finished("acme's");
  await new Promise((resolve) => server.close(resolve));
  expect(asked[0]).toContain("= 'acme''s' OR starts_with(target_service_key, 'acme''s/hire:')");
});

describe("a server that has just started, or moves its parts, cannot answer queries for a moment", () => {
  const serve = async (answer: () => { status: number; body: string }): Promise<string> => {
    const server = createServer((_request, response) => {
      const { status: code, body } = answer();
      response.writeHead(code).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
    const address = server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;
  };
  const busy = { status: 500, body: '{"message":"node lookup for partition 1 failed"}' };

  test("R24: they are asked again", async () => {
    const answers = [busy, { status: 503, body: "" }];
    const url = await serve(() => answers.shift() ?? { status: 200, body: '{"rows":[]}' });
    expect(await new Admin({ url }).list()).toEqual([]);
    expect(answers).toEqual([]);
  });

  test("R24: but not by a client that is closed, and a refusal is an error at once", async () => {
    const closed = new AbortController();
    let asked = 0;
    const url = await serve(() => {
      if (++asked === 3) closed.abort();
      return busy;
    });
    const failed = { code: "TOOL_ERROR", retryable: true, message: expect.stringContaining("status 500") };
    await expect(new Admin({ url, closed: closed.signal }).list()).rejects.toMatchObject(failed);
    expect(asked).toBe(3);
    let refusals = 0;
    const strict = await serve(() => ({ status: 403, body: `no ${++refusals}` }));
    await expect(new Admin({ url: strict }).list()).rejects.toMatchObject({ retryable: false });
    expect(refusals).toBe(1);
  });
});

test("R24: a large outcome goes to the blob store; without one, what the server would refuse for ever is refused here", async () => {
  const kept = new Map<string, Uint8Array>();
  const blobs = {
    put: (bytes: Uint8Array) => (kept.set("b1", bytes), "b1"),
    get: (ref: string) => kept.get(ref) ?? new Uint8Array(),
  };
  const small = { text: "x" };
  expect(await store(small, blobs)).toEqual({ here: small });
  const large = { text: "é".repeat(300_000) };
  const stored = await store(large, blobs);
  expect(stored).toEqual({ blob: "b1" });
  expect(await fetchStored(stored, blobs)).toEqual(large);
  await expect(fetchStored(stored, undefined)).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await expect(store({ text: "x".repeat(9_000_000) }, undefined)).rejects.toMatchObject({
    code: "INVALID_VALUE",
  });
});

function status(code: number, body = ""): () => Promise<Response> {
  return async () => new Response(body, { status: code });
}
