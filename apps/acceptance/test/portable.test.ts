import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { loopbackAnthropic, loopbackOpenAI } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { browserGlobals, bundle, inMemory } from "../src/browser.ts";
import { importsOf, root } from "../src/workspace.ts";

const TIMEOUT = 120_000;

/** They run in browsers and in workers. The others need a disk or a server. */
const PORTABLE = [
  "architectures",
  "context",
  "flow",
  "hooks",
  "kernel",
  "middleware",
  "orchestrator",
  "provider-ai-sdk",
  "provider-anthropic",
  "provider-openai",
  "react-agent",
  "resources",
  "runtime",
  "sdk",
  "supervision",
  "telemetry-otel",
  "tools-mcp",
];

interface Manifest {
  readonly bin?: Readonly<Record<string, string>>;
}

test.each(PORTABLE)("the built %s imports no module of Node, neither at once nor later", (name) => {
  const folder = join(root, "packages", name);
  const { bin = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  // A program is started by Node and imported by nobody.
  const programs = Object.values(bin).map((file) => join(folder, file));
  const files = globSync(`${folder}/dist/**/*.js`).filter((file) => !programs.includes(file));
  const imports = files.flatMap((file) => importsOf(readFileSync(file, "utf8")));
  expect(files).not.toEqual([]);
  expect(imports.filter(isBuiltin)).toEqual([]);
});

const PARTS = `
  import { defineTool } from "@ravi/kernel";
  export const validator = () => [];
  export const price = defineTool({
    name: "price", description: "", input: { type: "object" }, execute: ({ vendor }) => vendor.length,
  });
  export const model = {
    id: "m", info: { provider: "p", model: "m" },
    async generate({ messages }) {
      const last = messages.at(-1);
      const isDone = last.role === "tool";
      const toolCalls = isDone ? undefined : [{ id: "1", name: "price", arguments: '{"vendor":"Acme"}' }];
      return {
        message: { role: "assistant", content: isDone ? "It is " + last.content : "", toolCalls },
        finishReason: isDone ? "stop" : "toolCalls",
        usage: { inputTokens: 9, outputTokens: 3 },
      };
    },
  };`;

describe("in a bundle for browsers, where there is nothing of Node", () => {
  test("agents run within all rules, and are recorded", { timeout: TIMEOUT }, async () => {
    const told = await inBrowser(`
      import { HookManager } from "@ravi/hooks";
      import { cache, MiddlewarePipeline, retry, timeout } from "@ravi/middleware";
      import { ReActAgent } from "@ravi/react-agent";
      import { ExecutionTracker } from "@ravi/resources";
      import { getRunScope, MemoryJournal, Runtime } from "@ravi/runtime";
      import { SpawnTracker } from "@ravi/supervision";
      import { model, price, validator } from "./parts.ts";
      const agent = new ReActAgent({ name: "clerk", model, tools: [price], validator, instructions: "Be brief. ".repeat(100) });
      const rules = {
        journal: new MemoryJournal(),
        hooks: new HookManager(),
        ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
        headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
        pipelines: { chat: new MiddlewarePipeline([cache({ ttlMs: 1 }), retry(), timeout({ timeoutMs: 60_000 })]) },
      };
      const limits = { executionBudget: { maxTokens: 100_000, deadlineS: 60 } };
      async function tell() {
        const outputs = [String(getRunScope())];
        for (const [runtime, options] of [[new Runtime(), {}], [new Runtime(rules), limits]]) {
          // Three: after the second one, a runtime starts the run that waits for ever.
          for (let n = 0; n < 3; n++) outputs.push((await runtime.run(agent, "Price?", options).result).output);
          await runtime.close();
        }
        return outputs;
      }
      globalThis.told = tell();`);
    expect(told).toEqual(["undefined", ...Array.from({ length: 6 }, () => "It is 4")]);
  });

  test("the sdk runs an agent, with a conversation in memory", { timeout: TIMEOUT }, async () => {
    const told = await inBrowser(`
      import { agent, run } from "@ravi/sdk";
      import { model, price, validator } from "./parts.ts";
      const clerk = agent({ name: "clerk", model, tools: [price], validator });
      globalThis.told = run(clerk, "Price?", { sessionId: "s", budget: { tokens: 100_000, seconds: 60 } }).then(
        (result) => [result.status, result.output],
      );`);
    expect(told).toEqual(["completed", "It is 4"]);
  });

  test("what needs Node says so", { timeout: TIMEOUT }, async () => {
    const told = await inBrowser(`
      import { FileHistory } from "@ravi/context";
      import { FileAuditLog } from "@ravi/middleware";
      import { Runtime, SqliteJournal } from "@ravi/runtime";
      import { agent, run } from "@ravi/sdk";
      import { model } from "./parts.ts";
      const clerk = agent({ name: "clerk", model });
      const asked = [
        () => SqliteJournal.open("x"),
        () => FileHistory.open("x"),
        () => FileAuditLog.open("x"),
        () => new Runtime({ ambientScope: true }),
        () => run(clerk, "", { journal: "x" }),
        () => run(clerk, "", { handleSignals: true }),
      ];
      globalThis.told = Promise.all(asked.map(async (ask) => { try { await ask(); } catch (error) { return error.message; } }));`);
    const needs = (id: string): string =>
      `process.version is undefined; expected Node 22.18 or newer, or another platform with ${id}`;
    expect(told).toEqual([
      needs("node:sqlite"),
      needs("node:path"),
      needs("node:fs"),
      "runtime options.ambientScope is true; expected false here, where there is no node:async_hooks: pass on the scope that tools get instead",
      needs("node:path"),
      "handleSignals is true; expected false here, where there is no process that a signal could reach",
    ]);
  });

  test(
    "tools of MCP servers are called over HTTP, and a process is refused",
    { timeout: TIMEOUT },
    async () => {
      const program = `
      import { bareContext } from "@ravi/kernel/loop";
      import { openMcp } from "@ravi/tools-mcp";
      const results = {
        initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }),
        "tools/list": () => ({ tools: [{ name: "price", inputSchema: { type: "object" } }] }),
        "tools/call": ({ arguments: { vendor } }) => ({ content: [{ type: "text", text: vendor + " asks 4" }] }),
      };
      globalThis.fetch = async (url, { method, body }) => {
        const { id, method: asked, params } = method === "POST" ? JSON.parse(body) : {};
        if (id === undefined) return new Response(null, { status: method === "POST" ? 202 : 405 });
        return Response.json({ jsonrpc: "2.0", id, result: results[asked](params) });
      };
      async function tell() {
        const server = await openMcp({ url: "https://example.com/mcp" });
        const [tool] = server.tools;
        const { content } = await bareContext().tool({ id: "1", name: tool.name, arguments: '{"vendor":"Acme"}' }, tool);
        await server.close();
        return [content, await openMcp({ command: "x" }).catch((error) => error.message)];
      }
      globalThis.told = tell();`;
      expect(await inBrowser(program, {}, "tools-mcp")).toEqual([
        "Acme asks 4",
        "process.version is undefined; expected Node 22.18 or newer, or another platform with node:child_process",
      ]);
    },
  );

  test.each(["openai", "anthropic"])(
    "provider-%s answers in a page without a key, and refuses to hold one there",
    { timeout: TIMEOUT },
    async (name) => {
      const program = `
        import { ${name} } from "@ravi/provider-${name}";
        globalThis.window = globalThis;
        globalThis.document = {};
        globalThis.navigator = { userAgent: "a page" };
        const sent = [];
        const fetch = async (url, { headers }) => {
          sent.push(new Headers(headers).get("authorization"));
          return new Response("no such model", { status: 404 });
        };
        const ask = (apiKey) => ${name}("m", { apiKey, baseURL: "https://example.com/v1", fetch })
          .generate({ messages: [{ role: "user", content: "Hi" }] })
          .catch((error) => error.code + (error.kind ?? error.message));
        globalThis.told = Promise.all([ask(undefined), ask("sk-secret")]).then((told) => [...told, ...sent]);`;
      expect(await inBrowser(program)).toEqual([
        "PROVIDER_ERRORMODEL_NOT_FOUND",
        'INVALID_VALUEapiKey is "(hidden)"; expected none in a browser, where every visitor can read it: let baseURL point to a server of yours that adds the key',
        null,
      ]);
    },
  );
});

/**
 * The edge runtime of Next on Node has what a browser has, and in addition functions of Node that throw when they are called.
 */
const edgeGlobals = {
  setImmediate: unsupported,
  process: { env: {}, getBuiltinModule: unsupported },
};

function unsupported(): never {
  throw new Error("A Node.js API is used which is not supported in the Edge Runtime");
}

test.each(["openai", "anthropic"] as const)(
  "where functions of Node are there but throw, the sdk streams from %s",
  { timeout: TIMEOUT },
  async (name) => {
    await using server = await { openai: loopbackOpenAI, anthropic: loopbackAnthropic }[name]({
      script: ["It is 4"],
    });
    const program = `
      import { agent, model, start } from "@ravi/sdk";
      const clerk = agent({ name: "clerk", model: model("${name}:m", { baseURL: "${server.url}", apiKey: "k" }) });
      async function tell() {
        const handle = start(clerk, "Price?", { sessionId: "s", budget: { tokens: 100_000, seconds: 60 } });
        let text = "";
        for await (const { event } of handle.events()) if (event.type === "text") text += event.delta;
        return [text, (await handle.result).status];
      }
      globalThis.told = tell();`;
    expect(await inBrowser(program, edgeGlobals)).toEqual(["It is 4", "completed"]);
  },
);

/**
 * Bundles a program as if it were in the folder of a package, from where it finds the built packages, and runs it with the globals of a
 * browser. Returns what it has left in `told`.
 */
async function inBrowser(program: string, others: object = {}, folder = "sdk"): Promise<unknown> {
  const files = new Map([
    [join(root, "packages", folder, "main.ts"), program],
    [join(root, "packages", folder, "parts.ts"), PARTS],
  ]);
  const [main = ""] = files.keys();
  const { code, missing } = await bundle(main, { platform: "browser", plugins: [inMemory(files)] });
  expect(missing).toEqual([]);
  const context: { told?: Promise<unknown> } = createContext({ ...browserGlobals(), ...others });
  runInContext(code, context);
  // Its objects are of another realm, and equal to none of this one.
  return JSON.parse(JSON.stringify(await context.told));
}
