import { getEventListeners } from "node:events";
import { createServer } from "node:http";
import { inspect } from "node:util";
import { AgentId, InvalidValueError, type JsonObject, RaviError } from "@ravi/kernel";
import { expect, test } from "vitest";
import { Admin } from "../src/client/admin.ts";
import { launchRun } from "../src/client/start.ts";
import { fetchStored, store } from "../src/execution/bodies.ts";
import { checkSize, MOST } from "../src/sizes.ts";
import { UsedAccount } from "../src/execution/account.ts";
import { Ingress } from "../src/ingress.ts";
import { restateRuntime } from "../src/index.ts";
import { outcomeFromJSON, outcomeToJSON } from "../src/outcome.ts";
import { pause } from "../src/pause.ts";
import { addSpend, covers } from "../src/root/spend.ts";

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

test("R24: every fate of a child comes back from the wire as it went", () => {
  const result = { status: "partial", output: "half", stopReason: "steps" } as const;
  const stoppedBy = { dimension: "turns", used: 3, limit: 3, scope: "lead" } as const;
  const cut = { status: "partial", result, stoppedBy } as const;
  expect(outcomeFromJSON(outcomeToJSON(cut))).toEqual(cut);
  const error = new RaviError({ code: "CANCELLED", message: "enough" });
  const wire = JSON.stringify(outcomeToJSON({ status: "cancelled", error }));
  const back = outcomeFromJSON(JSON.parse(wire) as JsonObject);
  expect(back).toMatchObject({ status: "cancelled", error: { code: "CANCELLED", message: "enough" } });
});

test("R18: sums of small amounts are exact, and a reservation serves only what it covers", () => {
  let sum = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
  for (let n = 0; n < 10; n++) sum = addSpend(sum, { cost: 0.1, turns: 1 });
  expect([sum.cost, sum.turns]).toEqual([1, 10]);
  expect(covers({ tokens: 5, cost: 1, turns: 1 }, { tokens: 5, cost: 0.5, turns: 1 })).toBe(true);
  expect(covers({ tokens: 5, cost: 1 }, { tokens: 6, cost: 1 })).toBe(false);
  expect(covers({ tokens: 5 }, { tokens: 5, cost: 1 })).toBe(false);
});

test("R18: an account counts calls, retries and waste by what is recorded", () => {
  const used = new UsedAccount();
  const usage = { inputTokens: 1, outputTokens: 2 };
  used.add(
    [
      { usage, costUsd: 0.1, isWaste: true },
      { usage, costUsd: 0.2 },
    ],
    1,
  );
  used.add([{ usage: { inputTokens: 0, outputTokens: 0 }, costUsd: 0, toolCalls: 1 }], 2);
  const supervision = { agentId: AgentId("a"), parentId: null, priority: 2 } as Parameters<
    UsedAccount["toJSON"]
  >[0];
  expect(used.toJSON(supervision, "run" as never, "completed")).toMatchObject({
    modelCalls: 1,
    toolCalls: 1,
    retries: 2,
    costUsd: 0.3,
    wasteUsd: 0.1,
    usage: { inputTokens: 2, outputTokens: 4 },
  });
});

test("R18: the tighter limit of agent and caller counts; a ledger of one process and a misspelt option are refused", () => {
  const run = async () => ({ status: "completed", output: "", stopReason: "done" }) as const;
  const ids = { uuid: () => "id", random: () => 0 };
  const agent = {
    id: AgentId("a"),
    version: "2",
    run,
    defaults: { executionBudget: { maxTurns: 5, deadlineS: 10 } },
  };
  const launch = launchRun(
    agent,
    "hi",
    { executionBudget: { maxTurns: 9, maxCostUsd: 1 } },
    { ids, now: 1_000 },
  );
  expect(launch).toMatchObject({ agent: "a@2", deadline: 11_000, input: "hi" });
  expect(launch.supervision["executionBudget"]).toMatchObject({ maxTurns: 5, maxCostUsd: 1 });
  expect(() => launchRun(agent, "hi", { maxTurns: 1 } as object, { ids, now: 0 })).toThrow(/maxTurns/);
  // The workflow of a helper of run r has this key.
  expect(() => launchRun(agent, "hi", { runId: "r/hire:a#1" }, { ids, now: 0 })).toThrow(/runId/);
  const picture = { type: "image", url: `data:image/png;base64,${"A".repeat(25 * 1024 * 1024)}` } as const;
  expect(() => launchRun(agent, "hi", { attachments: [picture] }, { ids, now: 0 })).toThrow(
    /^input, with its attachments and metadata is "\d+ bytes"; expected at most \d+ bytes as JSON/,
  );
  expect(() =>
    restateRuntime({ ingress: "http://localhost:1", admin: "http://localhost:2" } as never),
  ).toThrow(/createContext/);
});

function status(code: number, body = ""): () => Promise<Response> {
  return async () => new Response(body, { status: code });
}

test("R24: what the server would refuse for ever is refused by its size on the wire", () => {
  expect(() => checkSize("f", "x".repeat(MOST - 2))).not.toThrow();
  expect(() => checkSize("f", "x".repeat(MOST))).toThrow(/f is .*25165826 bytes/);
  expect(() => checkSize("f", "ü".repeat(MOST / 2))).toThrow(/bytes/);
  expect(() => checkSize("f", "\n".repeat(MOST / 2))).toThrow(/bytes/);
});
