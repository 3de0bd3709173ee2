import { type McpCommand, mcpTools, openMcp } from "@ravi/tools-mcp";
import { expect, expectTypeOf, test } from "vitest";
import type { Client } from "@modelcontextprotocol/client";
import { defined, failureOf, fakeClient, server } from "./support.ts";

test.each<[string, object]>([
  ["prefix", { prefix: "a b" }],
  ["prefix", { prefix: "x".repeat(33) }],
  ["include", { include: "read" }],
  ["exclude", { exclude: [7] }],
  ["needsApproval", { needsApproval: "destructive" }],
  ["timeoutS", { timeoutS: 0 }],
  ["timeoutS", { timeoutS: Infinity }],
  ["maxResultChars", { maxResultChars: 10 }],
  ["maxMediaBytes", { maxMediaBytes: -1 }],
  ["name", { name: "" }],
  ["mcpTools options.timeout", { timeout: 5 }],
])("a wrong %s is refused: %j", async (field, options) => {
  expect(await failureOf(mcpTools(fakeClient([]), options))).toMatchObject({ code: "INVALID_VALUE", field });
});

test.each([16.1, 1.005, 0.0001])("%d seconds may be no whole number of milliseconds", async (timeoutS) => {
  const { tools } = await mcpTools(fakeClient([defined("read")]), { timeoutS });
  expect(tools.map(({ name }) => name)).toEqual(["read"]);
});

test.each<[string, object, object?]>([
  ["server", {}],
  ["server.command", { command: "" }],
  ["server.cwd", { command: "x", cwd: 7 }],
  ["server.shell", { command: "x", shell: true }],
  ["server.url", { url: "localhost:8080" }],
  ["server.token", { url: "http://localhost", token: "x" }],
  ["connectTimeoutS", { command: "x" }, { connectTimeoutS: -1 }],
  ["clock", { command: "x" }, { clock: {} }],
  ["openMcp options.retries", { command: "x" }, { retries: 1 }],
])("a wrong %s is refused before anything is started", async (field, where, options) => {
  const failure = await failureOf(Reflect.apply(openMcp, undefined, [where, options]));
  expect(failure).toMatchObject({ code: "INVALID_VALUE", field });
});

test("what is no client is refused", async () => {
  expect(await failureOf(Reflect.apply(mcpTools, undefined, [{}]))).toMatchObject({ code: "INVALID_VALUE" });
});

test.each([
  ["too deep", { description: "?", inputSchema: JSON.parse(`${'{"a":'.repeat(70)}1${"}".repeat(70)}`) }],
  ["with __proto__", { inputSchema: JSON.parse('{"__proto__":{}}') }],
  ["too long", { description: "x".repeat(100_001) }],
])("T11: a definition that is %s is refused, and can be left out", async (_, more) => {
  const client = fakeClient([defined("bad", more), defined("good")]);
  expect(await failureOf(mcpTools(client))).toMatchObject({
    code: "INVALID_VALUE",
    message: expect.stringContaining('"bad"'),
  });
  const { tools } = await mcpTools(client, { exclude: ["bad"] });
  expect(tools.map(({ name }) => name)).toEqual(["good"]);
});

test("more than a thousand tools are refused", async () => {
  const many = fakeClient(Array.from({ length: 1_001 }, (__, at) => defined(`t${at}`)));
  expect(await failureOf(mcpTools(many))).toMatchObject({ code: "INVALID_VALUE" });
});

test("what is given out cannot be changed", async () => {
  const { tools, manifest, changes } = await mcpTools(fakeClient([defined("read")]));
  for (const each of [tools, tools[0], manifest, manifest.tools[0], manifest.tools[0]?.inputSchema, changes])
    expect(Object.isFrozen(each)).toBe(true);
});

test("the official client fits, and so do options that are constant", () => {
  expectTypeOf<Client>().toExtend<Parameters<typeof mcpTools>[0]>();
  expectTypeOf(server("raw")).toExtend<McpCommand>();
});
