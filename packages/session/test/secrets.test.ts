import { readdir, readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { join } from "node:path";
import { ProviderError } from "@ravi/kernel";
import { FileSessionStore } from "@ravi/session";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { expect, it } from "vitest";
import { environmentSecrets, redactor } from "../src/tree/redact.ts";
import { folder, session, tool } from "./support.ts";

async function textOf(root: string): Promise<string> {
  const files = (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "utf8")));
  return texts.join("\n");
}

it("T13: canaries in keys, the environment, tool arguments, addresses and error bodies are not in the session's files", async () => {
  const canaries = {
    environment: 'canary "environment" 1\n2',
    key: "sk-canary0123456789abcdef",
    address: "canary-password",
    query: "canaryquery0123",
    header: "canaryheader0123456789",
    body: "canary-provider-body",
  };
  const root = join(await folder(), "sessions");
  const fetching = tool("fetch", () => {
    throw new Error(
      `GET https://user:${canaries.address}@host/x?api_key=${canaries.query}&a=1 failed; authorization: Bearer ${canaries.header}; tried ${canaries.key}`,
    );
  });
  const model = scriptedModel([
    new ProviderError({ kind: "SERVER_ERROR", message: `{"error":"${canaries.body}"}` }),
    { toolCalls: [{ name: "fetch", arguments: { token: canaries.environment } }] },
    `The token is ${canaries.environment}.`,
  ]);
  const secrets = environmentSecrets({ MY_API_KEY: canaries.environment, HOME: "/home/x", SHORT_KEY: "abc" });
  const agent = session({ model, tools: [fetching], store: new FileSessionStore(root), secrets });
  await agent.invoke("Fetch it.");
  const text = await textOf(root);
  for (const canary of Object.values(canaries))
    expect(text).not.toContain(JSON.stringify(canary).slice(1, -1));
  expect(text).toContain("[secret]");
  expect(text).toContain("Fetch it.");
  expect(inspect(agent.errors, { depth: 9 })).not.toContain("canary");
});

it.each([
  "gsk_abcdefghijkl0123456789",
  "xai-abcdefghijkl0123456789ABCD",
  "AIzaSyA-1234567890abcdefghijklmnopqrstu",
  "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123",
  "npm_abcdefghijkl0123456789ABCDEFGHIJKLMN",
  "whsec_abcdefghijkl01234567",
])("T13: %s is not told with an error", (key) => {
  const { message } = redactor([]).error(new Error(`refused ${key}!`));
  expect(message).toBe("refused [secret]!");
});

it("T13: a known secret is not told as Basic authentication sends it either", () => {
  const sent = Buffer.from("me:canary-4711").toString("base64");
  expect(redactor(["me:canary-4711"]).error(new Error(`refused ${sent}!`)).message).toBe("refused [secret]!");
});

it("T13: what the user says is the user's own and is kept", async () => {
  const root = join(await folder(), "sessions");
  const model = scriptedModel(["Understood."]);
  const agent = session({ model, store: new FileSessionStore(root), secrets: ["my own long secret"] });
  await agent.invoke("Keep this: my own long secret");
  expect(await textOf(root)).toContain("Keep this: my own long secret");
});

it("T13: the running turn sees its own results whole; a later turn sees what was written", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "key", arguments: {} }] }, "ok", "ok"]);
  const agent = session({ model, tools: [tool("key", () => "it is 0123456789")], secrets: ["0123456789"] });
  await agent.invoke("x");
  await agent.invoke("y");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("it is 0123456789");
  expect(model.calls[2]?.request.messages[3]?.content).toBe("it is [secret]");
});

it("a key __proto__ in what a server sent stays a key where a secret was taken out beside it", () => {
  const sent = JSON.parse('{"__proto__":{"isAdmin":true},"note":"canary-4711"}') as object;
  const message = { role: "assistant", content: "", toolCalls: [], providerData: sent } as const;
  const entry = { id: "e", parent: null, at: 0, kind: "message", message } as const;
  const cleaned = redactor(["canary-4711"]).entry(entry);
  expect(JSON.stringify(cleaned)).toContain('{"__proto__":{"isAdmin":true},"note":"[secret]"}');
});

it.each([
  ["in capitals", (secret: string) => secret.toUpperCase()],
  ["in a URL, in small letters", (secret: string) => encodeURIComponent(secret).toLowerCase()],
  ["in base64", (secret: string) => btoa(secret)],
  [
    "in JSON, each character as its number",
    (secret: string) => secret.replaceAll(/./g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`),
  ],
])("T13: a known secret is removed as it is written %s", (_, write) => {
  const secret = "Canary-Key/47+11=";
  const entry = redactor([secret]).entry({
    kind: "prompt",
    id: "a",
    parent: null,
    at: 1,
    text: `<${write(secret)}>`,
  });
  expect(entry).toMatchObject({ text: "<[secret]>" });
});

async function written(root: string): Promise<string> {
  const names = (await readdir(root)).filter((name) => name.endsWith(".jsonl"));
  return (await Promise.all(names.map((name) => readFile(join(root, name), "utf8")))).join("");
}

it("T13: a secret of several lines, or with quotes, is not written inside JSON either, nor in an address", async () => {
  const root = join(await folder(), "sessions");
  const secrets = [
    "-----BEGIN KEY-----\nabc/def+123==\n-----END KEY-----",
    'say "canary" \\ twice',
    "p@ss/word canary?",
  ];
  const model = scriptedModel([
    { toolCalls: [{ name: "read", arguments: { secrets }, id: "a" }] },
    secrets.map((secret) => encodeURIComponent(secret)).join("&"),
  ]);
  const agent = session({
    model,
    secrets,
    tools: [tool("read", () => ({ secrets }))],
    store: new FileSessionStore(root),
  });
  await agent.invoke("x");
  await agent.sessionManager.appendCustom("mine", { [secrets[1] ?? ""]: secrets });
  await agent.close();
  const text = await written(root);
  expect(text).toContain("[secret]");
  expect(text).not.toMatch(/canary|BEGIN KEY|abc\/def/);
});

it("T13: a secret that is a word or a number of the format itself does not break the session", async () => {
  const root = join(await folder(), "sessions");
  const secrets = ["assistant", "toolCalls", "arguments", "00000000", "toolCallId", "strategy"];
  const model = scriptedModel([
    {
      toolCalls: [{ name: "read", arguments: { n: 1 }, id: "a" }],
      usage: { inputTokens: 100000000, outputTokens: 1 },
    },
    "ok",
    "again",
  ]);
  const make = () =>
    session({
      model,
      secrets,
      sessionId: "s",
      clock: virtualClock({ now: 1_700_000_000_000 }),
      tools: [tool("read", () => "x")],
      store: new FileSessionStore(root),
      compaction: { compact: (messages) => messages.slice(-1) },
    });
  const agent = make();
  await agent.invoke("x");
  const roles = (await agent.sessionManager.messages()).map(({ role }) => role);
  await agent.close();
  const next = make();
  expect((await (await next.open()).messages()).map(({ role }) => role)).toEqual(roles);
  expect(roles).toEqual(["user", "assistant", "tool", "assistant"]);
  await next.runCompaction();
  expect((await next.invoke("y")).output).toBe("again");
});

it("T13: errors are told without secrets, to extensions and to whoever watches; the caller gets them as they were thrown", async () => {
  const secret = 'key "canary" 12345';
  const thrown = new ProviderError({
    kind: "OVERLOADED",
    provider: "p",
    message: `refused ${secret}`,
    cause: new Error(`GET https://me:canary@host/x?api_key=canary ${JSON.stringify({ secret })}`),
  });
  const told: unknown[] = [];
  const agent = session({
    model: scriptedModel(() => thrown),
    secrets: [secret],
    retry: { maxRetries: 1, baseDelayMs: 0 },
    extensions: [
      {
        name: "ear",
        on: { retry_start: (event) => void told.push(event), agent_end: (event) => void told.push(event) },
      },
    ],
  });
  const events = agent.events();
  expect(await agent.invoke("x").catch((error: unknown) => error)).toBe(thrown);
  for await (const event of events) {
    told.push(event);
    if (event.type === "settled") break;
  }
  expect(JSON.stringify(told)).toContain("[secret]");
  expect(JSON.stringify(told)).not.toContain("canary");
});

it("T13: a secret that is a number in the arguments of a call leaves arguments that can be read", async () => {
  const root = join(await folder(), "sessions");
  const model = scriptedModel([
    { toolCalls: [{ name: "read", arguments: { id: 912345678, list: [1] } }] },
    "ok",
  ]);
  const agent = session({
    model,
    secrets: ["12345678"],
    tools: [tool("read", () => "fine")],
    store: new FileSessionStore(root),
  });
  await agent.invoke("x");
  await agent.sessionManager.appendCustom("mine", { n: 12345678 });
  const [, call] = await agent.sessionManager.messages();
  const [first] = call?.role === "assistant" ? (call.toolCalls ?? []) : [];
  expect(JSON.parse(first?.arguments ?? "")).toEqual({ id: "[secret]", list: [1] });
  await agent.close();
  expect(await written(root)).not.toContain("12345678");
});

it("T13: a secret that came with the end of its line is a secret without it too", async () => {
  const root = join(await folder(), "sessions");
  const model = scriptedModel(["The key is canary-12345."]);
  const agent = session({ model, secrets: ["canary-12345\n"], store: new FileSessionStore(root) });
  await agent.invoke("x");
  await agent.close();
  expect(await written(root)).toContain("The key is [secret].");
});
