import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  AgentId,
  type ChatMessage,
  type CompactionStrategy,
  defineTool,
  type FunctionContext,
  type JsonValue,
  type Layer,
  type LLMClient,
  ProviderError,
  type RunContext,
} from "@ravi/kernel";
import { SlidingWindow, Summarization, TokenBudget } from "@ravi/context";
import { HookEvent, HookManager } from "@ravi/hooks";
import { approval, MiddlewarePipeline, toolCallValidation } from "@ravi/middleware";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { FileSessionStore, MemorySessionStore, SessionAgent } from "@ravi/session";
import { SpawnTracker } from "@ravi/supervision";
import { loopbackOpenAI, type ScriptedModel, scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";

const INFO = { info: { provider: "test", model: "fixed" } };

function governed(extra: ConstructorParameters<typeof Runtime>[0] = {}): Runtime {
  return new Runtime({
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    meter: new ModelMeter({ prices: { fixed: { input: 1, output: 1 } } }),
    ...extra,
  });
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ravi-session-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe("a session under a runtime", () => {
  test("is held to the run's budget, lands softly, and keeps what it did", async () => {
    const work = defineTool({
      name: "work",
      description: "Works.",
      input: z.object({ n: z.number() }),
      execute: ({ n }) => `done ${n}`,
    });
    let n = 0;
    const model = scriptedModel(
      ({ tools }) =>
        tools === undefined
          ? "This is what I have."
          : { toolCalls: [{ name: "work", arguments: { n: ++n } }] },
      INFO,
    );
    const store = new MemorySessionStore();
    const agent = new SessionAgent({ model, store, tools: [work], secrets: [] });
    const result = await governed().run(agent, "Work.", { sessionId: "s", executionBudget: { maxTurns: 4 } })
      .result;
    expect(result).toMatchObject({ status: "partial", stopReason: "budget", output: "This is what I have." });
    expect(model.calls).toHaveLength(4);
    const log = store.open("s");
    expect(log.heads.filter(({ kind }) => kind === "message")).toHaveLength(1 + 3 * 2 + 1);
  });

  test("does not wait for a retry beyond its deadline, but fails at once with what the server said", async () => {
    const clock = virtualClock();
    const busy = new ProviderError({ kind: "RATE_LIMIT", message: "busy", retryAfterMs: 60_000 });
    const model = scriptedModel(() => busy, INFO);
    const agent = new SessionAgent({ model, secrets: [] });
    const { result } = governed({ clock }).run(agent, "Work.", { executionBudget: { deadlineS: 10 } });
    await clock.runAll();
    expect(await result).toMatchObject({ status: "failed", error: { kind: "RATE_LIMIT" } });
    expect(clock.now()).toBe(0);
  });

  test("goes on with the conversation that the run names, run after run", async () => {
    const model = scriptedModel(({ messages }) => `heard ${messages.length - 1}`, INFO);
    const agent = new SessionAgent({ model, secrets: [] });
    const runtime = governed();
    const outputs: string[] = [];
    for (const sessionId of ["a", "b", "a"])
      outputs.push((await runtime.run(agent, "Hello", { sessionId }).result).output);
    expect(outputs).toEqual(["heard 1", "heard 1", "heard 3"]);
  });

  test("is a member of a team: hired, spoken to by its inbox, and answering", async () => {
    const { promise: asked, resolve: goOn } = Promise.withResolvers<void>();
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      execute: async () => {
        await asked;
        return "seen";
      },
    });
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "user" && last.content === "Measure it.")
        return { toolCalls: [{ name: "look", arguments: {} }] };
      return `answer to: ${String(last?.content)}`;
    }, INFO);
    const member = new SessionAgent({ name: "member", model, tools: [look], secrets: [] });
    const said: JsonValue[] = [];
    const lead: Agent = {
      id: AgentId("lead"),
      async run(ctx: RunContext) {
        const handle = await ctx.spawn(member, { input: "Measure it." });
        queueMicrotask(() => setImmediate(goOn));
        said.push(await ctx.ask(handle, "In metres, please."));
        const outcome = await ctx.join(handle);
        return {
          status: "completed",
          output: outcome.status === "completed" ? outcome.result.output : outcome.status,
          stopReason: "done",
        };
      },
    };
    const result = await governed().run(lead, "").result;
    expect(result.output).toBe("answer to: In metres, please.");
    expect(said).toEqual(["answer to: In metres, please."]);
  });

  test("a run that is cancelled in the middle of a batch keeps what the other calls did", async () => {
    const input = z.object({});
    const { promise: isHanging, resolve: hang } = Promise.withResolvers<void>();
    const quick = defineTool({ name: "quick", description: "Works.", input, execute: () => "done" });
    const deaf = defineTool({
      name: "deaf",
      description: "Never ends.",
      input,
      execute: () => {
        setImmediate(hang);
        return new Promise<string>(() => {});
      },
    });
    const calls = ["quick", "deaf"].map((name) => ({ name, arguments: {}, id: name }));
    const store = new MemorySessionStore();
    const model = scriptedModel([{ toolCalls: calls }], INFO);
    const agent = new SessionAgent({ model, store, tools: [quick, deaf], secrets: [] });
    const run = governed().run(agent, "Work.", { sessionId: "s" });
    await isHanging;
    run.cancel("enough");
    await run.result.catch(() => undefined);
    await agent.waitForIdle();
    const log = store.open("s");
    const results: unknown[] = [];
    for (const head of log.heads) {
      const entry = await log.read(head);
      if (entry.kind === "message" && entry.message.role === "tool") results.push(entry);
    }
    expect(results).toMatchObject([{ message: { toolCallId: "quick", content: "done" } }]);
  });

  test("hires its children, who spend from the same budget and hold seats", async () => {
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "user" && last.content === "Go")
        return {
          toolCalls: [
            { name: "helper", arguments: { task: "A" } },
            { name: "helper", arguments: { task: "B" } },
          ],
        };
      return last?.role === "user" ? `did ${String(last.content)}` : "All done.";
    }, INFO);
    const agent = new SessionAgent({
      model,
      children: [{ name: "helper", description: "Helps.", tools: [] }],
      secrets: [],
    });
    const hooks = new HookManager();
    const handedTo: string[] = [];
    hooks.on(HookEvent.HANDOFF, ({ task }) => void handedTo.push(task));
    const result = await governed({ hooks }).run(agent, "Go", {
      spawnBudget: { maxAgents: 3 },
      executionBudget: { maxTurns: 20 },
    }).result;
    expect(result).toMatchObject({ status: "completed", output: "All done." });
    expect(
      model.calls
        .at(-1)
        ?.request.messages.slice(-2)
        .map(({ content }) => content),
    ).toEqual(["did A", "did B"]);
    expect(result.agents?.map(({ agentId }) => agentId)).toEqual(["session", "helper/1", "helper/2"]);
    expect(handedTo).toEqual(["A", "B"]);
  });

  test("O16: has its children do nothing that its own layers would not let it do", async () => {
    let writes = 0;
    const write = defineTool({
      name: "write",
      description: "Writes.",
      input: z.object({}),
      execute: () => ++writes,
    });
    const model = scriptedModel([
      { toolCalls: [{ name: "helper", arguments: { task: "Write it." } }] },
      { toolCalls: [{ name: "write" }] },
      "It could not be written.",
      "So be it.",
    ]);
    const agent = new SessionAgent({
      model,
      tools: [write],
      children: [{ name: "helper", description: "Helps." }],
      middleware: { function: new MiddlewarePipeline([toolCallValidation({ deny: ["write"] })]) },
      secrets: [],
    });
    expect(await governed().run(agent, "Write.").result).toMatchObject({ output: "So be it." });
    expect(writes).toBe(0);
    const told = model.calls[2]?.request.messages.at(-1);
    expect(told).toMatchObject({ isError: true, content: expect.stringContaining("not allowed here") });
  });

  test("retries by the run's own clock, and tells of it", async () => {
    const clock = virtualClock();
    const hooks = new HookManager();
    const retries: number[] = [];
    hooks.on(HookEvent.RETRY, ({ delayMs }) => void retries.push(delayMs));
    const busy = new ProviderError({ kind: "RATE_LIMIT", message: "slow down", retryAfterMs: 7_000 });
    const agent = new SessionAgent({ model: scriptedModel([busy, "Now."], INFO), secrets: [] });
    const { result } = governed({ clock, hooks }).run(agent, "Hello");
    await clock.advance(6_999);
    expect(retries).toEqual([7_000]);
    await clock.advance(1);
    expect((await result).output).toBe("Now.");
  });

  test("at its deadline it gives what it has, keeps what it did, and goes on in the next run", async () => {
    const clock = virtualClock();
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      execute: () => "seen",
    });
    const model = scriptedModel(
      ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === "tool") return { text: "", delayMs: 60_000 };
        if (last?.content === "Go") return { text: "I look.", toolCalls: [{ name: "look", arguments: {} }] };
        return `heard ${messages.length - 1}`;
      },
      { ...INFO, clock },
    );
    const agent = new SessionAgent({ model, tools: [look], secrets: [] });
    const runtime = governed({ clock });
    const { result } = runtime.run(agent, "Go", { sessionId: "s", executionBudget: { deadlineS: 10 } });
    await clock.advance(11_000);
    expect(await result).toMatchObject({ status: "partial", stopReason: "deadline", output: "I look." });
    expect((await runtime.run(agent, "And?", { sessionId: "s" }).result).output).toBe("heard 4");
  });

  test("resumes after a crash: nothing is paid twice, nothing is written twice, and the prompt is the one it began with", async () => {
    const root = await folder();
    const journal = new MemoryJournal();
    const calls: string[] = [];
    let worked = 0;
    const make = (generation: number, dies: boolean): SessionAgent => {
      const work = defineTool({
        name: "work",
        description: "Works.",
        input: z.object({}),
        execute: () => `worked ${++worked}`,
      });
      const script = scriptedModel(({ messages }) => {
        const tools = messages.filter(({ role }) => role === "tool").length;
        calls.push(`${generation}:${tools}`);
        if (dies && tools === 2) return { text: "", fault: { type: "hang" } };
        return tools < 2 ? { toolCalls: [{ name: "work", arguments: {} }] } : "Finished.";
      }, INFO);
      const me = `process ${generation}`;
      const store = new FileSessionStore(root, {
        sync: false,
        liveness: { me, isGone: (owner) => owner !== me },
      });
      // Another day, another identity: the run goes on with what it went out with.
      return new SessionAgent({
        model: script,
        store,
        tools: [work],
        secrets: [],
        prompt: `I am ${generation}.`,
      });
    };
    const dying = governed({ journal });
    const first = make(1, true);
    const run = dying.run(first, "Work twice.", { runId: "r", sessionId: "s" });
    while (calls.length < 3) await new Promise(setImmediate);
    await dying.close();
    expect((await run.result).status).toBe("suspended");

    const second = make(2, false);
    const result = await governed({ journal, agents: [second] }).resume("r").result;
    expect(result).toMatchObject({ status: "completed", output: "Finished." });
    expect(worked).toBe(2);
    // The two calls that came back are not made again; the one in flight is.
    expect(calls).toEqual(["1:0", "1:1", "1:2", "2:2"]);

    const reader = new FileSessionStore(root, { liveness: { me: "reader", isGone: () => true } });
    const log = await reader.open("s");
    const messages = log.heads.filter(({ kind }) => kind === "message");
    const entries = [];
    for (const head of messages) entries.push(await log.read(head));
    expect(entries.map((entry) => entry.kind === "message" && entry.message.role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
    ]);
    expect(messages.map(({ parent }) => parent)).toEqual([
      null,
      ...messages.slice(0, -1).map(({ id }) => id),
    ]);
    await log.close();
  });

  test("what a model says for its compaction is not among what the run says", async () => {
    const model = scriptedModel(() => "A long answer. ".repeat(40), INFO);
    const summaries = scriptedModel(() => "the summary", INFO);
    const strategy = new Summarization({ model: summaries, keepRecentTokens: 20, triggerTokens: 100 });
    const agent = new SessionAgent({ model, secrets: [], compaction: { strategy, contextWindow: 200 } });
    const runtime = governed();
    const told: string[] = [];
    for (const input of ["one", "two"]) {
      const run = runtime.run(agent, input, { sessionId: "s" });
      for await (const { event } of run.events()) if (event.type === "text") told.push(event.delta);
    }
    expect(summaries.calls.length).toBeGreaterThan(0);
    expect(told.join("")).toBe("A long answer. ".repeat(80));
  });

  test("a run that is resumed when it was all but over writes nothing and says the same", async () => {
    const journal = new MemoryJournal();
    const store = new MemorySessionStore();
    const model = scriptedModel(["Hello."], INFO);
    const agent = new SessionAgent({ model, store, secrets: [] });
    const runtime = governed({ journal });
    await runtime.run(agent, "Hi", { runId: "r", sessionId: "s" }).result;
    const before = store.open("s");
    const count = before.heads.length;
    await before.close();
    expect((await governed({ journal, agents: [agent] }).resume("r").result).output).toBe("Hello.");
    const after = store.open("s");
    expect(after.heads).toHaveLength(count);
  });

  test("live state is no tool call: it costs none, asks nobody, and is told as none", async () => {
    const told: string[] = [];
    const hooks = new HookManager();
    for (const event of [HookEvent.TOOL_START, HookEvent.TOOL_END, HookEvent.APPROVAL_REQUESTED] as const)
      hooks.on(event, () => void told.push(event));
    const model = scriptedModel(["Seen."], INFO);
    const agent = new SessionAgent({
      model,
      ephemeral: [{ name: "screen", look: () => [{ type: "text", text: "a window", note: undefined }] }],
      secrets: [],
    });
    const runtime = governed({
      hooks,
      journal: new MemoryJournal(),
      pipelines: { function: new MiddlewarePipeline([approval()]) },
      permissions: {
        isNoop: false,
        check: ({ action }) => (action === "tool" ? { allow: false, reason: "no tools" } : { allow: true }),
      },
    });
    const result = await runtime.run(agent, "Look.", { executionBudget: { maxToolCalls: 0 } }).result;
    expect(result).toMatchObject({ status: "completed", output: "Seen." });
    expect(JSON.stringify(model.calls[0]?.request.messages)).toContain("a window");
    expect(told).toEqual([]);
  });

  test("a result of many parts is as long as maxToolResultChars allows, and not each part", async () => {
    const parts = Array.from({ length: 20 }, (_, at) => ({
      type: "text" as const,
      text: `${at % 10}`.repeat(6_000),
    }));
    const look = defineTool({ name: "look", description: "", input: z.object({}), execute: () => "" });
    const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, "Seen."], INFO);
    const agent = new SessionAgent({ model, tools: [look], maxToolResultChars: 5_000, secrets: [] });
    const inParts: Layer<FunctionContext> = async (context) =>
      void (context.result = { content: parts, isError: false });
    const runtime = governed({ pipelines: { function: new MiddlewarePipeline([inParts]) } });
    expect((await runtime.run(agent, "Look.").result).output).toBe("Seen.");
    const told = model.calls[1]?.request.messages.find(({ role }) => role === "tool")?.content ?? "";
    const texts = typeof told === "string" ? [told] : told.map((part) => ("text" in part ? part.text : ""));
    expect(texts).toHaveLength(20);
    expect(texts.join("").length).toBeLessThanOrEqual(5_000);
  });

  test("live state is looked at once: a resumed run sees what was seen", async () => {
    const journal = new MemoryJournal();
    const store = new MemorySessionStore();
    let looks = 0;
    const calls: number[] = [];
    const make = (dies: boolean): SessionAgent => {
      const model = scriptedModel(() => {
        calls.push(looks);
        if (calls.length === 1) return { toolCalls: [{ name: "click", arguments: {} }] };
        return dies ? { text: "", fault: { type: "hang" } } : "Clicked.";
      }, INFO);
      const click = defineTool({
        name: "click",
        description: "Clicks.",
        input: z.object({}),
        idempotent: true,
        execute: () => "ok",
      });
      return new SessionAgent({
        model,
        store,
        tools: [click],
        ephemeral: [{ name: "screen", look: () => `look ${++looks}` }],
        secrets: [],
      });
    };
    const dying = governed({ journal });
    const run = dying.run(make(true), "Click.", { runId: "r", sessionId: "s" });
    while (calls.length < 2) await new Promise(setImmediate);
    await dying.close();
    await run.result;
    const result = await governed({ journal, agents: [make(false)] }).resume("r").result;
    expect(result).toMatchObject({ status: "completed", output: "Clicked." });
    expect(looks).toBe(2);
  });
});

describe("a session with the strategies of @ravi/context", () => {
  const LIMIT = 2_000;
  const sizeOf = (messages: readonly ChatMessage[]): number =>
    Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / 4);
  /** A model with a window of 2,000 tokens, that really refuses what is longer. */
  const small = (): ScriptedModel =>
    scriptedModel(
      ({ messages }) => {
        if (sizeOf(messages) > LIMIT)
          return new ProviderError({ kind: "CONTEXT_OVERFLOW", message: "maximum context length exceeded" });
        const last = messages.at(-1);
        if (last?.role === "user" && String(last.content).startsWith("<transcript>")) return "They counted.";
        return `answer ${"y".repeat(400)}`;
      },
      { info: { provider: "test", model: "small", contextWindow: LIMIT } },
    );
  const strategies: Readonly<Record<string, (model: LLMClient) => CompactionStrategy>> = {
    TokenBudget: () => new TokenBudget(),
    Summarization: (model) => new Summarization({ model, keepRecentTokens: 500 }),
    SlidingWindow: () => new SlidingWindow({ messages: 6 }),
  };
  for (const [name, make] of Object.entries(strategies)) {
    // Believed to be ten times as large, so that only the overflow tells; or known, so that it never comes to one.
    for (const contextWindow of [10 * LIMIT, LIMIT]) {
      test(`${name}, with a window of ${contextWindow}: thirty long turns go through, and every word is kept`, async () => {
        const model = small();
        const compaction = { strategy: make(model), contextWindow };
        const agent = new SessionAgent({ model, compaction, secrets: [], retry: { baseDelayMs: 0 } });
        onTestFinished(() => agent.shutdown());
        for (let n = 0; n < 30; n++) {
          const { status } = await agent.invoke(`turn ${n} ${"x".repeat(400)}`);
          expect(status).toBe("completed");
        }
        const kept = agent.sessionManager.path().filter(({ kind }) => kind === "message");
        expect(kept).toHaveLength(60);
        expect(agent.sessionManager.path().some(({ kind }) => kind === "compaction")).toBe(true);
        expect(sizeOf(await agent.sessionManager.messages())).toBeLessThanOrEqual(LIMIT);
      });
    }
  }
});

/** A process that runs a session to its end, or goes on with one that a kill has cut off. */
const PROGRAM = `
import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineTool } from "@ravi/kernel";
import { openai } from "@ravi/provider-openai";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { FileSessionStore, SessionAgent } from "@ravi/session";
import * as z from "zod";
const [url, folder] = process.argv.slice(1);
const work = defineTool({ name: "work", description: "Works.", input: z.object({ n: z.number() }), idempotent: true, execute: ({ n }) => "done " + n });
const agent = new SessionAgent({
  model: openai("small", { baseURL: url, apiKey: "no-key-needed" }),
  store: new FileSessionStore(join(folder, "sessions")),
  tools: [work],
  secrets: [],
  loopDetection: false,
});
const isNew = !existsSync(join(folder, "journal"));
const journal = SqliteJournal.open(join(folder, "journal"));
const runtime = new Runtime({ journal, agents: [agent] });
const begun = !isNew && (await journal.list()).length > 0;
const handle = begun ? runtime.resume("r") : runtime.run(agent, "Work.", { runId: "r", sessionId: "s" });
const result = await handle.result;
process.stdout.write(JSON.stringify({ status: result.status, output: result.output, inDoubt: result.inDoubt ?? [] }));
await runtime.close();
await journal.close();
`;

const STEPS = 6;
const KILLS = process.env["RAVI_LONG"] === undefined ? 2 : 20;

test(`a session is killed ${KILLS} times: what was recorded is not paid for again, and the conversation is one line`, async () => {
  const root = await folder();
  let wake = (): void => {};
  await using server = await loopbackOpenAI({
    script: ({ messages }) => {
      wake();
      const n = messages.filter(({ role }) => role === "tool").length;
      const answer = n < STEPS ? { toolCalls: [{ name: "work", arguments: { n } }] } : { text: "All done." };
      return { ...answer, delayMs: 20 };
    },
  });
  const start = (): ChildProcess => {
    const args = ["--conditions=@ravi/source", "--input-type=module", "--eval", PROGRAM, server.url, root];
    return spawn(process.execPath, args, {
      cwd: join(import.meta.dirname, ".."),
      stdio: ["ignore", "pipe", "inherit"],
    });
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    const child = start();
    const exit = once(child, "exit").then(() => wake());
    const target = server.requests.length + 1 + (kill % 3);
    while (server.requests.length < target && child.exitCode === null) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
    child.kill("SIGKILL");
    await exit;
  }
  const last = start();
  let output = "";
  last.stdout?.on("data", (data: Buffer) => (output += data.toString()));
  await once(last, "exit");
  const result = JSON.parse(output) as { status: string; output: string; inDoubt: string[] };
  expect(result).toMatchObject({ status: "completed", output: "All done." });
  // A call that was in flight at a kill may be paid for twice, and is named; no other is.
  const needed = STEPS + 1;
  expect(server.bill().calls).toBeGreaterThanOrEqual(needed);
  expect(server.bill().calls).toBeLessThanOrEqual(needed + KILLS);
  const times = new Map<string, number>();
  for (const { idempotencyKey = "" } of server.bill().entries)
    times.set(idempotencyKey, (times.get(idempotencyKey) ?? 0) + 1);
  expect(times.size).toBe(needed);
  const repeated = [...times].flatMap(([key, count]) => (count > 1 ? [key] : []));
  expect(result.inDoubt).toEqual(expect.arrayContaining(repeated));

  const log = await new FileSessionStore(join(root, "sessions")).open("s");
  const messages = log.heads.filter(({ kind }) => kind === "message");
  expect(messages).toHaveLength(1 + 2 * STEPS + 1);
  expect(messages.map(({ parent }) => parent)).toEqual([null, ...messages.slice(0, -1).map(({ id }) => id)]);
  await log.close();
});

test.each([
  ["English", "We compare the prices of three suppliers. "],
  ["Chinese", "我们正在比较三家供应商的价格。"],
])("O12: who asks for a compaction keeps about half of a conversation in %s", async (_, text) => {
  const model = scriptedModel(() => text.repeat(20), { info: { contextWindow: 200_000 } });
  const prompt = text.repeat(100);
  const compaction = new TokenBudget({ target: 0.8 });
  const agent = new SessionAgent({ model, prompt, secrets: [], compaction });
  for (let turn = 0; turn < 20; turn++) await agent.invoke(text.repeat(20));
  const before = await agent.sessionManager.messages();
  expect(await agent.runCompaction()).toMatchObject({ status: "compacted" });
  const after = await agent.sessionManager.messages();
  expect(after.length / before.length).toBeGreaterThan(0.4);
  expect(after.length / before.length).toBeLessThan(0.6);
});
