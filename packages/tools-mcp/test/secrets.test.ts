import { inspect } from "node:util";
import { mcpTools, openMcp } from "@ravi/tools-mcp";
import { describe, expect, test } from "vitest";
import { answer, httpServer, rawHttp } from "./http-server.ts";
import { ask, defined, failureOf, fakeClient, server, told } from "./support.ts";

const CANARY = "canary-7d1f0c";

describe("T13: a secret is in no result and no error", () => {
  test("a variable with a secret's name, and the password in one with an address", async () => {
    const env = { API_TOKEN: CANARY, DATABASE: "postgres://user:canary-two@db/x", ROOT: "/srv/files" };
    await using raw = await openMcp({ ...server("raw"), env });
    const said = String(await told(raw, "env"));
    expect(said).not.toContain("canary");
    // The server itself has them, and what is no secret can be told.
    expect(said).toMatch(/"API_TOKEN":"\[redacted\]".*"ROOT":"\/srv\/files"/);
    expect(said).toContain("postgres://user:[redacted]@db/x");
  });

  test("a server that repeats its variables at its end", async () => {
    const program = "process.stderr.write(process.env.API_TOKEN); process.exitCode = 1;";
    const where = { command: process.execPath, args: ["--eval", program], env: { API_TOKEN: CANARY } };
    const failure = await failureOf(openMcp(where));
    expect(failure.message).toMatch(/ended with code 1; it said last: \[redacted\]$/);
    expect(inspect(failure, { depth: 9 })).not.toContain(CANARY);
  });

  test("headers and tokens that a server repeats", async () => {
    let repeats = "error";
    const handle = rawHttp((call) => {
      const said = JSON.stringify(call.request.headers);
      if (repeats === "error") return call.response.writeHead(500).end(said);
      return answer(call, said);
    });
    await using http = await httpServer(handle);
    const headers = { "x-api-key": `${CANARY}-key`, "x-team": "blue" };
    let tokens = 0;
    const token = () => `${CANARY}-token-${tokens++}`;
    const url = `${http.url}?key=${CANARY}-query`;
    await using raw = await openMcp({ url, headers, token });
    const failed = await ask(raw, "read");
    expect(failed).toMatchObject({ isError: true, content: expect.stringContaining("redacted") });
    repeats = "result";
    const said = await told(raw, "read");
    expect(said).toContain('"x-team":"blue"');
    expect(inspect([failed, said], { depth: 9 })).not.toContain(CANARY);
  });

  test("wrong options that hold one", async () => {
    const wrong: unknown[] = [
      { url: `ftp://${CANARY}@host` },
      { url: "http://host", headers: { authorization: 7, [CANARY]: CANARY } },
      { url: "http://host", apiKey: CANARY },
      { command: "x", token: CANARY },
      { command: "x", env: { KEY: [CANARY] } },
      { command: "x", args: [CANARY, 7] },
      { url: "http://host", command: CANARY },
      { command: "x", env: { TOKEN: `${CANARY}\0` } },
    ];
    for (const where of wrong) {
      const failure = await failureOf(Reflect.apply(openMcp, undefined, [where]));
      expect(failure).toHaveProperty("code");
      expect(failure.message).not.toContain(`${CANARY}"`);
    }
    const failure = await failureOf(
      Reflect.apply(mcpTools, undefined, [fakeClient([]), { secrets: CANARY }]),
    );
    expect(inspect(failure)).not.toContain(CANARY);
  });

  test("one that stands where a text is cut", async () => {
    let before = 0;
    await using http = await httpServer(
      rawHttp(({ request, response }) =>
        response.writeHead(500).end(`${"x".repeat(before)}${String(request.headers["x-api-key"])}y`),
      ),
    );
    await using raw = await openMcp({ url: http.url, headers: { "x-api-key": CANARY } });
    for (before = 940; before < 1_010; before++) expect(await told(raw, "read")).not.toContain("canary");

    const program = `process.stderr.write("x" + process.env.API_TOKEN + "y".repeat(990)); process.exitCode = 1;`;
    const where = { command: process.execPath, args: ["--eval", program], env: { API_TOKEN: CANARY } };
    expect((await failureOf(openMcp(where))).message).toMatch(/it said last: \[?redacted\]y{990}$/);

    const description = `${"x".repeat(995)}${CANARY}`;
    const link = { type: "resource_link", uri: "file:///x", name: "x", description };
    const client = fakeClient([defined("read")], () => ({ content: [link] }));
    expect(await told(await mcpTools(client, { secrets: [CANARY] }), "read")).not.toContain("canar");
  });

  test("one in the name of a file", async () => {
    const resource = { uri: `file:///x/${CANARY}`, mimeType: "text/plain", blob: "aGk=" };
    const client = fakeClient([defined("read")], () => ({ content: [{ type: "resource", resource }] }));
    const tools = await mcpTools(client, { secrets: [CANARY] });
    expect(await told(tools, "read")).toMatchObject([{ type: "file", name: "[redacted]" }]);
  });

  test("those that are given, in data and progress too", async () => {
    const client = fakeClient([defined("read")], () => ({ structuredContent: { a: [`x${CANARY}x`] } }));
    const tools = await mcpTools(client, { secrets: [CANARY] });
    expect(await told(tools, "read")).toBe('{"a":["x[redacted]x"]}');
  });
});
