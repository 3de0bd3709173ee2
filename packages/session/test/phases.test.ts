import assert from "node:assert/strict";
import { isRaviError } from "@ravi/kernel";
import { SessionBusyError } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { session, tool } from "./support.ts";

it("O2: the phase is set before the first await and restored after the turn", async () => {
  const agent = session({ model: scriptedModel(["Hi."]) });
  expect(agent.phase).toBe("idle");
  const turn = agent.invoke("Hello");
  expect(agent.phase).toBe("turn");
  await turn;
  expect(agent.phase).toBe("idle");
});

it("O2, O13: whatever needs an idle session fails at once while it is busy, and changes nothing", async () => {
  const agent = session({ model: scriptedModel(["Hi.", "Again."]) });
  const turn = agent.invoke("Hello");
  const refused = [
    agent.invoke("Me too"),
    agent.runCompaction(),
    agent.newSession(),
    agent.fork("x"),
    agent.switchSession("y"),
    agent.setModel("z").catch((error: unknown) => (isRaviError(error) ? Promise.reject(error) : undefined)),
    agent.close(),
  ];
  for (const outcome of await Promise.allSettled(refused)) {
    expect(outcome).toMatchObject({ status: "rejected", reason: { code: "INVALID_VALUE" } });
  }
  await expect(agent.invoke("x")).rejects.toBeInstanceOf(SessionBusyError);
  expect((await turn).output).toBe("Hi.");
  expect((await agent.invoke("x")).output).toBe("Again.");
});

it("O2: a turn that fails leaves the session idle", async () => {
  const agent = session({ model: scriptedModel([new TypeError("a mistake")]) });
  await expect(agent.invoke("Hello")).rejects.toThrow("a mistake");
  expect(agent.phase).toBe("idle");
});

it("O2, O12: a compaction after the turn has its own phase", async () => {
  const phases: string[] = [];
  const agent = session({
    model: scriptedModel(["x".repeat(400), "y"]),
    compaction: {
      strategy: {
        compact: (messages) => {
          phases.push(agent.phase);
          return messages.slice(-1);
        },
      },
      contextWindow: 100,
      reserveTokens: 50,
    },
  });
  await agent.invoke("Hello");
  expect(phases).toEqual(["compaction"]);
  expect(agent.phase).toBe("idle");
});

it("O14: waitForIdle waits for the turn, and isIdle says so", async () => {
  const agent = session({ model: scriptedModel(["Hi."]) });
  await agent.waitForIdle();
  const turn = agent.invoke("Hello");
  const waited = agent.waitForIdle().then(() => agent.isIdle());
  expect(agent.isIdle()).toBe(false);
  expect(await waited).toBe(true);
  await turn;
});

it("O13: newSession, switchSession and fork move between conversations", async () => {
  const model = scriptedModel((request) => `heard ${request.messages.length - 1}`);
  const agent = session({ model, sessionId: "first" });
  await agent.invoke("one");
  const leaf = agent.sessionManager.leaf ?? "";
  const second = await agent.newSession();
  expect(second).not.toBe("first");
  expect((await agent.invoke("other")).output).toBe("heard 1");
  await agent.switchSession("first");
  expect((await agent.invoke("two")).output).toBe("heard 3");
  await agent.fork(leaf);
  expect((await agent.invoke("another two")).output).toBe("heard 3");
  const copy = await agent.fork(leaf, { newSession: true });
  expect(agent.sessionManager.info).toMatchObject({
    id: copy,
    origin: { sessionId: "first", entryId: leaf },
  });
  expect((await agent.invoke("third")).output).toBe("heard 3");
});

it("O13: a fork of an entry that is not there changes nothing", async () => {
  const agent = session({ model: scriptedModel(["a", "b"]) });
  await agent.invoke("one");
  const { leaf } = agent.sessionManager;
  await expect(agent.fork("nowhere")).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await expect(agent.fork("nowhere", { newSession: true })).rejects.toMatchObject({ code: "INVALID_VALUE" });
  expect(agent.sessionManager.leaf).toBe(leaf);
  expect((await agent.invoke("two")).output).toBe("b");
});

it("a conversation goes on over a change of the model, and the session says when", async () => {
  const first = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, "I am one."], {
    id: "one/a",
  });
  const second = scriptedModel(["I am two."], { id: "two/b" });
  const agent = session({ model: first, models: [second], tools: [tool("look", () => "seen")] });
  await agent.invoke("Who are you?");
  await agent.setModel("two/b");
  expect((await agent.invoke("And you?")).output).toBe("I am two.");
  expect(second.calls[0]?.request.messages.slice(1).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  expect(agent.sessionManager.path().map(({ kind }) => kind)).toContain("model");
  await expect(agent.setModel("three")).rejects.toMatchObject({ code: "INVALID_VALUE" });
});

it("a list of models with the first one in it names each of them once", async () => {
  const [one, two] = ["one", "two"].map((id) => scriptedModel([], { id }));
  assert(one !== undefined && two !== undefined);
  const agent = session({ model: one, models: [one, two] });
  expect(agent.modelRegistry.list()).toEqual([one, two]);
  await expect(agent.setModel("three")).rejects.toThrow(
    'model is "three"; expected one of one, two, or an LLMClient',
  );
});

it("O14: shutdown ends a running turn and lets go of the session", async () => {
  const agent = session({ model: scriptedModel([{ text: "x", fault: { type: "hang" } }]) });
  const turn = agent.invoke("Hello").catch((error: unknown) => error);
  await agent.shutdown();
  expect(await turn).toMatchObject({ code: "CANCELLED" });
  expect(agent.isIdle()).toBe(true);
});
