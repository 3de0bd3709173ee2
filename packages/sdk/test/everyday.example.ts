// Every piece of code in the table "Everyday tasks" of the README stands here, where it is compiled and run.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileHistory, KeywordMemory, TokenBudget } from "@ravi/context";
import {
  agent,
  cancel,
  conversation,
  deliver,
  estimate,
  ExecutionTracker,
  type LLMClient,
  model,
  partialJson,
  resume,
  run,
  runs,
  type Span,
  start,
  startResume,
  type Telemetry,
  tool,
} from "@ravi/sdk";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";

const journal = await mkdtemp(join(tmpdir(), "ravi-"));
const prices = { scripted: { input: 1, output: 2 } };
const hello = (): LLMClient => scriptedModel(() => "Hello there.");

// Stream to a browser.
const sent: string[] = [];
const response = { write: (text: string) => void sent.push(text) };
const writer = agent({ name: "writer", model: hello() });
const handle = start(writer, "Say hello", { journal });
for await (const { event } of handle.events()) if (event.type === "text") response.write(event.delta);
assert.equal(sent.join(""), "Hello there.");

// Show an answer with a schema while it is written.
const text = '{"title":"He';
assert.deepEqual(partialJson(text), { title: "He" });

// Talk for many turns.
const chat = conversation(writer, { id: "ada", journal });
const { output } = await chat.send("Hello!");
assert.equal(output, "Hello there.");
await chat.close();

// Keep a long conversation, or long results of tools, inside the context window.
const compaction = new TokenBudget({ contextWindow: 128_000 });
const fitting = await run(writer, "Say hello", { compaction });
assert.equal(fitting.status, "completed");

// Tell tools for whom they work, and remember users across conversations.
const history = await FileHistory.open(join(journal, "memory"));
const memory = new KeywordMemory({ history });
const remember = tool({
  name: "remember",
  description: "Keeps a fact about the user for later conversations.",
  input: z.object({ fact: z.string() }),
  idempotent: true,
  execute: async ({ fact }, { scope, idempotencyKey }) => {
    await memory.remember(scope, fact, { key: idempotencyKey });
    return "kept";
  },
});
const recall = tool({
  name: "recall",
  description: "Facts about the user from earlier conversations, found by their words.",
  input: z.object({ about: z.string() }),
  idempotent: true,
  execute: async ({ about }, { scope }) => {
    const found = await memory.recall(scope, about);
    return found.map((item) => item.text);
  },
});
const hostModel = scriptedModel([
  { toolCalls: [{ name: "remember", arguments: { fact: "likes green tea" } }] },
  "Noted.",
  { toolCalls: [{ name: "recall", arguments: { about: "tea" } }] },
  "Green tea.",
]);
const host = agent({ name: "host", model: hostModel, tools: [remember, recall] });
await run(host, "I like green tea", { userId: "ada" });
await run(host, "Which tea do I like?", { userId: "ada" });
assert.equal(hostModel.calls.at(-1)?.request.messages.at(-1)?.content, '["likes green tea"]');
await history.close();

// Ask before a tool is called; answer from another process; continue after a deployment.
let sentMails = 0;
const mail = tool({
  name: "mail",
  description: "Sends a mail.",
  input: z.object({ to: z.string() }),
  needsApproval: true,
  execute: () => `mail ${++sentMails}`,
});
const clerk = agent({
  name: "clerk",
  model: scriptedModel([{ toolCalls: [{ name: "mail", arguments: { to: "Ada" } }] }, "Sent."]),
  tools: [mail],
});
const asking = start(clerk, "Write to Ada", { journal, runId: "letter" });
for await (const { event } of asking.events())
  if (event.type === "progress" && event.name === "approvalRequested") break;
const handles = [asking];
await Promise.all(handles.map((each) => each.suspend({ graceMs: 20_000 })));
const open = (await runs({ journal })).filter(({ status }) => status === "running" || status === "suspended");
for (const { runId, waitingFor = [] } of open)
  for (const { name } of waitingFor) await deliver(runId, name, true, { journal, mustExist: true });
const agents = [clerk, writer];
const resumed = open.map(({ runId }) => startResume(runId, { agents, journal }));
assert.deepEqual(await Promise.all(resumed.map(async (each) => (await each.result).output)), ["Sent."]);
assert.equal(sentMails, 1);

// Cap what a run spends, and what all runs of a tenant spend; know the most that a run can cost.
const capped = await run(writer, "Say hello", { budget: { usd: 0.5, tokens: 50_000 }, prices });
assert.ok(capped.cost !== null && capped.cost < 0.5);
const most = await estimate(writer, "Say hello", { budget: { usd: 0.5 }, prices });
assert.ok(most.usd !== null && most.usd <= 0.5);
const acme = new ExecutionTracker({ maxCostUsd: 20 }, { scope: "tenant acme" });
const forAcme = agent({ name: "writer", model: hello(), budget: acme });
await run(forAcme, "Say hello", { prices });
assert.ok(acme.used.cost > 0);

// Retry.
let attempts = 0;
const flaky = scriptedModel(() => {
  if (++attempts === 1) throw new Error("no");
  return "Hello again.";
});
const reporter = agent({ name: "reporter", model: flaky });
let result = await run(reporter, "Say hello", { journal, runId: "report", retry: { maxRetries: 0 } });
assert.equal(result.status, "failed");
result = await resume("report", { agents: reporter, journal, retryFailed: true });
assert.equal(result.unwrap().output, "Hello again.");
assert.equal((await resume("letter", { agents, journal })).output, "Sent.");

// Cancel.
const slow = start(agent({ name: "slow", model: scriptedModel([{ delayMs: 60_000 }]) }), "Go", { journal });
for await (const { event } of slow.events()) if (event.type === "started") break;
await cancel(slow.runId, "no longer needed", { journal });
assert.equal((await slow.result).status, "cancelled");
handle.cancel("enough"); // this one is over already, so nothing happens
const stop = new AbortController();
const request = { signal: stop.signal };
const left = run(writer, "Say hello", { signal: request.signal });
stop.abort();
assert.equal((await left).status, "cancelled");

// Test an agent without a real model.
const script = scriptedModel(["Hello."]);
const tested = agent({ name: "writer", model: script });
assert.equal((await run(tested, "Say hello")).output, "Hello.");
assert.equal(script.calls.length, 1);

// Trace.
const spans: string[] = [];
const telemetry: Telemetry = {
  isNoop: false,
  startSpan(name): Span {
    spans.push(name);
    return { setAttribute() {}, recordError() {}, end() {} };
  },
  metric() {},
};
const traced = await run(writer, "Say hello", { telemetry, prices });
console.log(String(traced.tree));
assert.ok(spans.length >= 2);

// Swap the provider.
const name = process.env["MODEL"] ?? "openai:gpt-5-mini";
const swapped = agent({ name: "writer", model: name });
const local = model("openai:qwen3", { baseURL: "http://127.0.0.1:11434/v1" });
assert.deepEqual([swapped.id, local.info.model], ["writer", "qwen3"]);

await rm(journal, { recursive: true });
