import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { connect } from "node:net";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { openPage } from "@ravi/devtools";
import { InvalidValueError, type RunSummary } from "@ravi/kernel";
import { Access } from "../src/access.ts";
import { ask, askJson, opened, stub } from "./page.ts";

describe("T14: who may look", () => {
  test("T14: nobody without the key, which nothing but the address has", async () => {
    const page = await opened(stub());
    for (const authorization of ["", "Bearer ", "Bearer wrong", `Basic ${page.url.split("#key=")[1]}`]) {
      for (const path of ["/api/runs", "/api/runs/a", "/api/runs/a/events", "/api/nothing"]) {
        const { status, body } = await ask(page, path, { headers: { authorization } });
        expect({ path, status }).toEqual({ path, status: 401 });
        expect(body).toContain("the whole address");
      }
      const { status } = await ask(page, "/api/runs/a/cancel", {
        headers: { authorization },
        body: { reason: "x" },
      });
      expect(status).toBe(401);
    }
    const key = page.url.split("#key=")[1] ?? "";
    expect(Buffer.from(key, "base64url")).toHaveLength(16);
    const files = ["/", "/main.js", "/page.css", "/api.js"];
    for (const path of files) expect((await ask(page, path)).body).not.toContain(key);
  });

  test("T14: each page has a key of its own", async () => {
    const runs = stub();
    const [one, other] = [await opened(runs), await opened(runs)];
    expect(one.url.split("#")[1]).not.toBe(other.url.split("#")[1]);
  });

  test.each([
    ["a name that leads to this machine", { host: "evil.example" }],
    ["such a name with the port", { host: "evil.example:PORT" }],
    ["no port", { host: "127.0.0.1" }],
    ["another port", { host: "127.0.0.1:1" }],
    ["another site", { origin: "http://evil.example" }],
    ["another site on this machine", { origin: "http://127.0.0.1:1" }],
    ["the other name of this machine", { origin: "http://localhost:PORT" }],
    ["a file", { origin: "null" }],
    ["https", { origin: "https://127.0.0.1:PORT" }],
  ])("T14: %s is refused, with the key too", async (_, asked) => {
    const page = await opened(stub());
    const headers = Object.fromEntries(
      Object.entries(asked).map(([name, value]) => [name, value.replace("PORT", String(page.port))]),
    );
    for (const path of ["/", "/api/runs"]) {
      const { status, headers: got } = await ask(page, path, { headers });
      expect(status).toBe(403);
      expect(got["access-control-allow-origin"]).toBeUndefined();
    }
  });

  test("T14: its own pages are answered, under both names of this machine", async () => {
    const page = await opened(stub());
    for (const host of [`127.0.0.1:${page.port}`, `localhost:${page.port}`]) {
      const { status } = await ask(page, "/api/runs", { headers: { host, origin: `http://${host}` } });
      expect(status).toBe(200);
    }
  });

  test("T14: so they are at port 80, which browsers leave out of an address", () => {
    const askedAt = (host: string) => (): void =>
      new Access(80).checkSite({ headers: { host, origin: `http://${host}` } });
    expect(askedAt("127.0.0.1")).not.toThrow();
    expect(askedAt("localhost")).not.toThrow();
    expect(askedAt("evil.example")).toThrow("this is not the address of the page");
  });

  test("T14: every answer forbids frames, scripts in the page, guessing of types and keeping", async () => {
    const page = await opened(stub());
    for (const path of ["/", "/main.js", "/api/runs", "/nothing"]) {
      const { headers } = await ask(page, path);
      expect(headers["content-security-policy"]).toMatch(
        /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
      );
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["access-control-allow-origin"]).toBeUndefined();
    }
  });

  test("T14: it listens on this machine only", async () => {
    const page = await opened(stub());
    const others = Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4");
    for (const { address } of others) {
      const socket = connect(page.port, address);
      const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
      expect(error.code).toBe("ECONNREFUSED");
    }
    const { address } =
      new URL(page.url).hostname === "127.0.0.1" ? { address: "127.0.0.1" } : { address: "" };
    expect(address).toBe("127.0.0.1");
  });

  test.each([
    "/../package.json",
    "/..%2fpackage.json",
    "/view.js/../../../package.json",
    "/constructor",
    "/__proto__",
    "//main.js",
    "/page/main.js",
    "/main.js%00",
  ])("T14: no other file is sent: %s", async (path) => {
    const page = await opened(stub());
    expect((await ask(page, path)).status).toBe(404);
  });
});

describe("what it tells", () => {
  test("the runs, the newest first, and the one that is looked at", async () => {
    const listed = [5, 9, 7].map((startedAt) => ({ runId: `run-${startedAt}`, startedAt }) as RunSummary);
    const page = await opened(stub({ list: () => listed }));
    const { runs, total, selected } = await askJson(page, "/api/runs?limit=2&run=run-5");
    expect((runs as RunSummary[]).map(({ runId }) => runId)).toEqual(["run-9", "run-7"]);
    expect([total, selected]).toEqual([3, { runId: "run-5", startedAt: 5 }]);
    expect(await askJson(page, "/api/runs?run=four")).toMatchObject({ selected: null, isReadOnly: false });
  });

  test("any id of a run, whatever it is made of", async () => {
    const asked: string[] = [];
    const page = await opened(
      stub({
        inspect: (runId) => {
          asked.push(runId);
          throw new InvalidValueError({ field: "run", value: runId, expected: "another one" });
        },
      }),
    );
    const ids = ["a/b c?#%", "../..", "__proto__", "<b>", "日本", "a\u0000b"];
    for (const id of ids) expect((await ask(page, `/api/runs/${encodeURIComponent(id)}`)).status).toBe(409);
    expect(asked).toEqual(ids);
  });

  test("of a run that is too large for a page, the most and how much more there is", async () => {
    const agents = Array.from({ length: 1_001 }, (_, n) => ({
      agentId: `a${n}`,
      modelCalls: n,
      toolCalls: 2,
    }));
    const calls = Array.from({ length: 502 }, (_, n) => ({ key: `tool:${n}` }));
    const events = Array.from({ length: 503 }, (_, seq) => ({
      seq,
      event: { type: "text", delta: "x".repeat(30_000) },
    }));
    const page = await opened(stub({ report: { agents, calls }, events }));
    const { report, agentsInAll, unlisted, callsInAll } = await askJson(page, "/api/runs/a");
    const { agents: shownAgents, calls: shownCalls } = report as { agents: unknown[]; calls: unknown[] };
    expect([shownAgents.length, agentsInAll, shownCalls.length, callsInAll]).toEqual([
      1_000, 1_001, 500, 502,
    ]);
    expect(shownAgents[0]).toEqual({ agentId: "a0", modelCalls: 0, toolCalls: 2 });
    expect(unlisted).toEqual({ modelCalls: 1_000, toolCalls: 2 });
    expect(shownCalls.at(-1)).toEqual({ key: "tool:501" });
    const told = await askJson(page, "/api/runs/a/events");
    expect([told["from"], told["total"]]).toEqual([3, 503]);
    const [first] = told["events"] as { event: { delta: string } }[];
    expect(first?.event.delta).toBe(`${"x".repeat(20_000)}… (10000 more characters)`);
  });

  test("what cannot be told is said, with the reason", async () => {
    const page = await opened(stub());
    expect((await ask(page, "/api/runs?limit=-1")).status).toBe(400);
    expect((await ask(page, "/api/runs?limit=x")).body).toContain("limit must be a whole number, not x");
    expect((await ask(page, "/api/runs/%E0%A4%A")).status).toBe(400);
    expect((await ask(page, "/api/runs", { body: {} })).status).toBe(404);
    const broken = await opened(
      stub({
        list: () => {
          throw new Error("the disk is gone");
        },
      }),
    );
    expect(await ask(broken, "/api/runs")).toMatchObject({
      status: 500,
      body: '{"error":"the disk is gone"}',
    });
  });

  test("so is what cannot be written as JSON, and what was thrown and is no error", async () => {
    const report = { agents: [], calls: [], limits: { most: 1n } };
    const list = (): Promise<never> => Promise.reject(Object.create(null) as Error);
    const page = await opened(stub({ report, list }));
    expect(await ask(page, "/api/runs/a")).toMatchObject({
      status: 500,
      body: expect.stringContaining("BigInt"),
    });
    expect(await ask(page, "/api/runs")).toMatchObject({ status: 500, body: '{"error":"[object Object]"}' });
  });
});

describe("what it does", () => {
  test.each([
    ["answers", {}],
    ["answers", { name: "colour", execId: "a", since: 1 }],
    ["answers", { name: "colour", since: 1, value: 1 }],
    ["answers", { name: 1, execId: "a", since: 1, value: 1 }],
    ["answers", { name: "colour", execId: "a", since: "1", value: 1 }],
    ["answers", []],
    ["cancel", {}],
    ["cancel", { reason: "" }],
    ["cancel", null],
  ])("a wrong body of %s does nothing: %j", async (what, body) => {
    const done: string[] = [];
    const page = await opened(
      stub({ deliver: () => void done.push("deliver"), cancel: () => void done.push("cancel") }),
    );
    expect((await ask(page, `/api/runs/a/${what}`, { body })).status).toBe(400);
    expect(done).toEqual([]);
  });

  test("T14: only JSON of a known length is read, so that a form of another site can send nothing", async () => {
    const page = await opened(stub());
    const post = (headers: Record<string, string>) =>
      ask(page, "/api/runs/a/cancel", { headers, body: { reason: "x" } }).then(({ status }) => status);
    expect(await post({ "content-type": "text/plain" })).toBe(415);
    expect(await post({ "content-type": "application/x-www-form-urlencoded" })).toBe(415);
    expect(await post({ "content-length": "2000000" })).toBe(413);
    // In pieces, without saying how many.
    const headers = {
      authorization: `Bearer ${page.url.split("#key=")[1]}`,
      "content-type": "application/json",
    };
    const body = new Blob(['{"reason":"x"}']).stream();
    const sent = { method: "POST", headers, body, duplex: "half" } as const;
    expect((await fetch(new URL("/api/runs/a/cancel", page.url), sent)).status).toBe(413);
  });

  test("a page that only looks can neither answer nor cancel", async () => {
    const done: string[] = [];
    const runs = stub({ deliver: () => void done.push("deliver"), cancel: () => void done.push("cancel") });
    const page = await opened(runs, { readOnly: true });
    for (const [what, body] of [
      ["answers", { name: "a", execId: "a", since: 1, value: 1 }],
      ["cancel", { reason: "x" }],
    ] as const)
      expect((await ask(page, `/api/runs/a/${what}`, { body })).status).toBe(403);
    expect(await askJson(page, "/api/runs")).toMatchObject({ isReadOnly: true });
    expect(done).toEqual([]);
  });
});

describe("opening and closing", () => {
  test("a port that is taken is named", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    await expect(openPage(stub(), { port })).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: "port",
    });
  });

  test.each([
    ["port", { port: -1 }],
    ["port", { port: 65_536 }],
    ["port", { port: 1.5 }],
    ["readOnly", { readOnly: "yes" }],
    ["options", { host: "0.0.0.0" }],
  ])("a wrong option is refused: %s of %j", async (field, options) => {
    const wrong: object = options;
    await expect(openPage(stub(), wrong)).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: expect.stringContaining(field),
    });
  });

  test("what has no runs is refused", async () => {
    const runs = { ...stub(), inspect: undefined };
    await expect(Reflect.apply(openPage, undefined, [runs])).rejects.toThrow(
      /runs is .* expected an object with the methods list, inspect/,
    );
  });

  test("when it is closed nobody is answered any more, and closing it twice does nothing", async () => {
    const asked = Promise.withResolvers<void>();
    const page = await openPage(
      stub({
        list: () => {
          asked.resolve();
          return new Promise<never>(() => {});
        },
      }),
    );
    const outcome = ask(page, "/api/runs").catch((error: unknown) => (error as NodeJS.ErrnoException).code);
    await asked.promise;
    await page.close();
    expect(await outcome).toBe("ECONNRESET");
    await page.close();
    await expect(ask(page, "/")).rejects.toThrow(/ECONNREFUSED/);
  });
});
