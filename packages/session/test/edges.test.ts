import { getEventListeners } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { FileSessionStore, MemorySessionStore } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, recorder, session, tool } from "./support.ts";

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
  expect(results.map(({ toolCallId }) => toolCallId)).toEqual(["x", "x_2", "call_2", "x_3", "x_4"]);
  expect(results.map(({ isError = false }) => isError)).toEqual([true, true, true, false, false]);
});

it("an abort does not wait for a tool that hears no signal, and keeps what the others did", async () => {
  const log: string[] = [];
  const call = (name: string) => ({ name, arguments: {}, id: name });
  const model = scriptedModel([{ toolCalls: [call("a"), call("deaf"), call("b")] }, "after"]);
  const agent = session({
    model,
    extensions: [recorder(log)],
    tools: [
      tool("a", () => "a done"),
      tool("b", () => "b done"),
      tool("deaf", () => {
        setImmediate(() => agent.abort());
        return new Promise(() => {});
      }),
    ],
  });
  await expect(agent.invoke("x")).rejects.toMatchObject({ code: "CANCELLED" });
  await agent.invoke("go on");
  expect(model.calls[1]?.request.messages.slice(3, 6)).toMatchObject([
    { toolCallId: "a", content: "a done" },
    { toolCallId: "deaf", content: expect.stringContaining("may or may not have happened"), isError: true },
    { toolCallId: "b", content: "b done" },
  ]);
  expect(log.filter((event) => event === "message_end tool")).toHaveLength(2);
});

it("a signal that is aborted already ends the turn before anything is said", async () => {
  const agent = session({ model: scriptedModel(["a"]) });
  await expect(agent.invoke("x", { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "CANCELLED",
  });
  expect((await agent.invoke("y")).output).toBe("a");
  expect(await agent.sessionManager.messages()).toHaveLength(2);
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

it("an abort while an extension looks at the results keeps the results", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "send", arguments: {}, id: "a" }] }, "after"]);
  const slow = {
    name: "slow",
    on: {
      tool_result: () => {
        setImmediate(() => agent.abort());
        return new Promise<never>(() => {});
      },
    },
  };
  const agent = session({ model, tools: [tool("send", () => "sent")], extensions: [slow] });
  await expect(agent.invoke("x")).rejects.toMatchObject({ code: "CANCELLED" });
  await agent.invoke("go on");
  expect(model.calls[1]?.request.messages[3]).toEqual({
    role: "tool",
    toolCallId: "a",
    name: "send",
    content: "sent",
  });
});

it("turns leave no listener on the caller's signal, whatever comes of them", async () => {
  const model = scriptedModel(["one", new Error("no"), "three", "a summary"]);
  const agent = session({ model, retry: false });
  const { signal } = new AbortController();
  await agent.invoke("1", { signal });
  await expect(agent.invoke("2", { signal })).rejects.toThrow("no");
  const running = agent.invoke("3", { signal });
  await expect(agent.invoke("busy", { signal })).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await running;
  expect(getEventListeners(signal, "abort")).toEqual([]);
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
