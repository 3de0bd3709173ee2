import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ProviderError } from "@ravi/kernel";
import { FileSessionStore } from "@ravi/session";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, session, tool } from "../support.ts";

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
