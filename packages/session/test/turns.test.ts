import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { FileSessionStore, MemorySessionStore, type SessionManager, type SessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, session, tool } from "./support.ts";
import { type LLMClient, ProviderError, type ToolCall } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";

it("ids that are missing, reused or doubled are made unique, and every call has its result", async () => {
  const calls = [
    { name: "cycle", arguments: {}, id: "x" },
    { name: "unknown", arguments: {}, id: "x" },
    { name: "one", arguments: "{broken", id: "" },
    { name: "one", arguments: {}, id: "x" },
  ];
  const model = scriptedModel([{ toolCalls: calls }, { toolCalls: calls.slice(3) }, "ok"]);
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  await session({ model, tools: [tool("cycle", () => cycle), tool("one", () => 1)] }).invoke("x");
  const results = model.calls[2]?.request.messages.filter((message) => message.role === "tool") ?? [];
  expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["x", "x_2", "call", "x_3", "x_4"]);
  expect(results.map(({ isError = false }) => isError)).toEqual([true, true, true, false, false]);
});

it("a tool that calls its own session gets an error that it can read, and the turn goes on", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "again", arguments: {} }] }, "ok"]);
  const agent = session({ model, tools: [tool("again", () => agent.invoke("inner"))] });
  expect((await agent.invoke("x")).output).toBe("ok");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toContain("expected idle, for invoke");
});

it("a session that was closed can be used and watched again", async () => {
  const agent = session({ model: scriptedModel(["a", "b"]) });
  await agent.invoke("x");
  await agent.close();
  const events = agent.events();
  await agent.invoke("y");
  const types: string[] = [];
  for await (const event of events) {
    types.push(event.type);
    if (event.type === "settled") break;
  }
  expect(types).toContain("text");
  expect(await agent.sessionManager.messages()).toHaveLength(4);
});

it("long and odd texts come back as they were", async () => {
  const root = join(await folder(), "sessions");
  const texts = ["x".repeat(3_000_000), "\ud800 alone \u0000 \u2028 \r\n end"];
  const make = () =>
    session({ model: scriptedModel(() => "ok"), store: new FileSessionStore(root), sessionId: "s" });
  const agent = make();
  for (const text of texts) await agent.invoke(text);
  await agent.close();
  const messages = await (await make().open()).messages();
  expect(messages.flatMap(({ role, content }) => (role === "user" ? [content] : []))).toEqual(texts);
});

it("a switch to a session that is locked leaves everything as it was", async () => {
  const store = new MemorySessionStore();
  const model = scriptedModel(() => "ok");
  const one = session({ model, store, sessionId: "one" });
  const two = session({ model, store, sessionId: "two" });
  await one.invoke("x");
  await two.invoke("x");
  await expect(one.switchSession("two")).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
  await one.invoke("y");
  expect(one.sessionManager.sessionId).toBe("one");
});

it("O19: looking around leaves nothing on the disk", async () => {
  const root = join(await folder(), "sessions");
  const agent = session({ model: scriptedModel(() => "ok"), store: new FileSessionStore(root) });
  await agent.open();
  await agent.newSession();
  await agent.setModel(scriptedModel(() => "other"));
  await agent.close();
  await expect(readdir(root)).rejects.toMatchObject({ code: "ENOENT" });
});

it("whatever is thrown by a model comes out as it was", async () => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error("do not look");
      },
    },
  );
  const model = scriptedModel(() => {
    // oxlint-disable-next-line typescript/only-throw-error -- anything can be thrown
    throw hostile;
  });
  expect(
    await session({ model })
      .invoke("x")
      .catch((error: unknown) => error === hostile),
  ).toBe(true);
  expect(model.calls).toHaveLength(1);
});

it("whoever watches sees the session's own events in their order", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, "done"]);
  const agent = session({ model, tools: [tool("look", () => "seen")] });
  const events = agent.events();
  await agent.invoke("x");
  const types: string[] = [];
  for await (const { type } of events) {
    if (type.includes("_") || type === "input" || type === "context") types.push(type);
    if (type === "settled") break;
  }
  expect(types).toEqual([
    "input",
    "before_agent_start",
    "context",
    "message_end",
    "message_end",
    "tool_call",
    "tool_result",
    "message_end",
    "message_end",
    "agent_end",
    "save_point",
  ]);
});

const busy = new ProviderError({ kind: "OVERLOADED", message: "busy", provider: "p" });

it("O5: a model call that failed and is tried again is one step, so a turn of one step survives it", async () => {
  const model = scriptedModel([busy, busy, "Done."]);
  const agent = session({ model, maxSteps: 1 });
  const steps: number[] = [];
  const events = agent.events();
  expect(await agent.invoke("x")).toMatchObject({ status: "completed", output: "Done." });
  await agent.close();
  for await (const event of events) if (event.type === "step") steps.push(event.step);
  expect(steps).toEqual([1, 1, 1]);
});

it("O7: the answer is counted also where the provider does not count, or counts what is no number", async () => {
  for (const usage of [undefined, { inputTokens: Number.NaN, outputTokens: 1 }]) {
    const model: LLMClient = {
      id: "plain",
      info: { provider: "p", model: "plain" },
      async generate() {
        const content = "word ".repeat(1_000);
        return { message: { role: "assistant", content }, finishReason: "stop", usage };
      },
    };
    const agent = session({ model });
    await agent.invoke("x");
    expect(agent.contextUsage().tokens).toBeGreaterThan(1_000);
  }
});

it("whoever begins to watch when a turn has begun hears the rest of it, streamed text included", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "work", arguments: {} }] }, "Done."]);
  const agent = session({ model, tools: [tool("work", () => "fine")] });
  const turn = agent.invoke("x");
  const events = agent.events();
  await turn;
  await agent.close();
  const seen = new Set<string>();
  for await (const event of events) seen.add(event.type);
  expect([...seen]).toEqual(expect.arrayContaining(["step", "toolCall", "toolResult", "text", "settled"]));
});

it("O13: the note of a fork is kept in a session of its own too", async () => {
  const agent = session({ model: scriptedModel(() => "ok"), secrets: ["canary-123"] });
  await agent.invoke("x");
  const from = agent.sessionManager.leaf ?? "";
  await agent.fork(from, { newSession: true, note: "another way, canary-123" });
  const branch = agent.sessionManager.path().at(-1);
  expect(branch?.entry).toMatchObject({ kind: "branch", parent: from, note: "another way, [secret]" });
  expect((await agent.invoke("y")).output).toBe("ok");
});

it("a run whose session cannot be let go of afterwards still gives its answer, and the error is collected", async () => {
  const memory = new MemorySessionStore();
  const problem = new Error("EIO");
  const store: SessionStore = {
    list: () => memory.list(),
    delete: (id) => memory.delete(id),
    open: (id) => Object.assign(memory.open(id), { close: () => Promise.reject(problem) }),
  };
  const agent = session({ model: scriptedModel(() => "Done."), store });
  const ctx = bareContext({ agent });
  expect(await agent.run(ctx, ctx.inbox("x"))).toMatchObject({ status: "completed", output: "Done." });
  expect(agent.errors).toEqual([{ source: "session", event: "close", error: problem }]);
});

it("O10: a source that shows what is no content is named, and the turn goes on without it", async () => {
  for (const state of [7, null, {}, [null], [{ type: "picture" }], [{ type: "image" }]]) {
    const model = scriptedModel(() => "ok");
    const look = () => state as never;
    const agent = session({ model, ephemeral: [{ name: "screen", look }] });
    expect((await agent.invoke("x")).output).toBe("ok");
    expect(model.calls[0]?.request.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(agent.errors).toMatchObject([{ source: "screen", event: "look" }]);
  }
});

it("O9: a turn that its tools end gives what came of them, and not what was said before another call", async () => {
  const call = (text: string) => ({ text, toolCalls: [{ name: "work", arguments: {} }] });
  const ends = (script: Parameters<typeof scriptedModel>[0]) => {
    let calls = 0;
    const agent = session({
      model: scriptedModel(script),
      tools: [tool("work", () => `result ${++calls}`)],
      extensions: [{ name: "end", on: { tool_result: () => ({ terminate: calls === 2 }) } }],
    });
    return agent.invoke("x");
  };
  expect(await ends([call("Let me look."), call("")])).toMatchObject({ output: "result 2" });
  expect(await ends([call("Let me look."), call("Here it is.")])).toMatchObject({ output: "Here it is." });
});

it("O9: a call of a session that has no tools does not go back, and is not answered for ever", async () => {
  const calling = { text: "I look.", toolCalls: [{ name: "search", arguments: {} }] };
  const model = scriptedModel([calling, "done"]);
  expect(await session({ model }).invoke("x")).toMatchObject({ status: "completed", output: "done" });
  expect(model.calls[1]?.request.messages.slice(-2)).toEqual([
    { role: "assistant", content: "I look." },
    { role: "user", content: expect.stringContaining("you have no tools") },
  ]);
  const deaf = scriptedModel(() => calling);
  expect((await session({ model: deaf }).invoke("x")).status).toBe("partial");
  expect(deaf.calls).toHaveLength(2);
});

it("O15: whoever reads the events, or the messages, can change no call that is to be made and nothing that is sent", async () => {
  const worked: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "ok" : { toolCalls: [{ name: "work", arguments: { x: 1 }, id: "a" }] },
  );
  const agent = session({
    model,
    tools: [tool("work", (args) => (worked.push(args), "done"))],
    extensions: [{ name: "slow", on: { tool_call: () => gate.promise } }],
  });
  const refused: string[] = [];
  const spoil = (what: string, call: ToolCall | undefined): void => {
    if (call !== undefined && !Reflect.set(call, "arguments", '{"x":"spoilt"}')) refused.push(what);
  };
  const reading = (async () => {
    for await (const event of agent.events()) {
      if (event.type === "message_end" && event.message.role === "assistant")
        spoil("message_end", event.message.toolCalls?.[0]);
      if (event.type === "toolCall") {
        spoil("toolCall", event.call);
        gate.resolve();
      }
    }
  })();
  const spoilStored = async (what: string, manager: SessionManager): Promise<void> => {
    const [, answer] = await manager.messages();
    spoil(what, answer?.role === "assistant" ? answer.toolCalls?.[0] : undefined);
  };
  await agent.invoke("x");
  await spoilStored("messages", agent.sessionManager);
  await agent.close();
  await reading;
  await spoilStored("messages that were read again", await agent.open());
  expect(worked).toEqual([{ x: 1 }]);
  expect(JSON.stringify(model.calls)).not.toContain("spoilt");
  // The event of a call has a copy of it.
  expect(refused).toEqual(["message_end", "messages", "messages that were read again"]);
});
