import { join } from "node:path";
import type { JsonValue } from "@ravi/kernel";
import { FileSessionStore, MemorySessionStore, SessionBusyError } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, session, tool } from "./support.ts";

const model = () => scriptedModel(() => "ok", { record: false });

it("O2: a turn that is begun while the session is being closed is refused as busy, and not as locked", async () => {
  const agent = session({
    model: model(),
    store: new FileSessionStore(join(await folder(), "s")),
    sessionId: "s",
  });
  await agent.invoke("x");
  const closing = agent.close();
  await expect(agent.invoke("y")).rejects.toBeInstanceOf(SessionBusyError);
  await closing;
  expect((await agent.invoke("z")).output).toBe("ok");
});

it("O14: shutdown twice at once, and again after it, is one shutdown", async () => {
  const agent = session({
    model: scriptedModel([{ text: "x", fault: { type: "hang" } }]),
    store: new FileSessionStore(join(await folder(), "s")),
  });
  const turn = agent.invoke("x").catch(() => undefined);
  await Promise.all([agent.shutdown(), agent.shutdown(), turn]);
  await agent.shutdown();
  expect(agent.isIdle()).toBe(true);
});

it("O14: shutdown while somebody else waits to begin a turn still closes", async () => {
  const agent = session({ model: model() });
  const turn = agent.invoke("x").catch(() => undefined);
  const next = agent.waitForIdle().then(() => agent.invoke("y").catch((error: unknown) => error));
  await agent.shutdown();
  await turn;
  await next;
  expect(agent.isIdle()).toBe(true);
});

it("O2: of two turns begun at once one runs; the other is refused and leaves no trace", async () => {
  const agent = session({ model: model() });
  const [first, second] = await Promise.allSettled([agent.invoke("a"), agent.invoke("b")]);
  expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
  expect(await agent.sessionManager.messages()).toHaveLength(2);
});

it("what is only space is nothing: no turn is begun with it, and none is steered", async () => {
  const agent = session({
    model: scriptedModel([{ toolCalls: [{ name: "talk", arguments: {} }] }, "ok"]),
    tools: [tool("talk", () => agent.steer(" \n"))],
    extensions: [{ name: "eraser", on: { input: () => ({ text: "" }) } }],
  });
  for (const blank of ["", " ", "\n\t"])
    await expect(agent.invoke(blank)).rejects.toMatchObject({ code: "INVALID_VALUE" });
  expect((await agent.invoke("x")).output).toBe("ok");
  const messages = await agent.sessionManager.messages();
  expect(messages[0]).toEqual({ role: "user", content: "x" });
  expect(messages[2]).toMatchObject({ role: "tool", isError: true });
  expect(agent.errors).toMatchObject([{ source: "eraser", event: "input" }]);
});

it("O14: what an extension has begun to write when the session is closed is written", async () => {
  const store = new MemorySessionStore();
  const agent = session({ model: model(), store, sessionId: "s" });
  await agent.invoke("x");
  const writing = agent.sessionManager.appendCustom("mine", { n: 1 });
  await agent.close();
  const id = await writing;
  expect(await (await agent.open()).read(id)).toMatchObject({ kind: "custom", data: { n: 1 } });
});

it("O14: an extension's own data is kept as it was given, and what is no JSON is refused in words", async () => {
  const agent = session({ model: model(), store: new MemorySessionStore() });
  await agent.invoke("x");
  const { sessionManager } = agent;
  const data = { n: [1] };
  const writing = sessionManager.appendCustom("mine", data);
  data.n.push(2);
  expect(await sessionManager.read(await writing)).toMatchObject({ data: { n: [1] } });
  const cycle: Record<string, JsonValue> = {};
  cycle["self"] = cycle;
  await expect(sessionManager.appendCustom("mine", cycle)).rejects.toMatchObject({ code: "INVALID_VALUE" });
});

it("O14: what would not be read again as it was given is refused, and nothing is written", async () => {
  const agent = session({ model: model(), store: new MemorySessionStore() });
  await agent.invoke("x");
  const { sessionManager } = agent;
  const count = sessionManager.entries().length;
  const leaf = sessionManager.leaf ?? "";
  const wrong: [Promise<unknown>, string][] = [
    [sessionManager.appendCustom("mine", { run: () => 1 } as never), "data.run"],
    [sessionManager.appendCustom("mine", { at: [new Date()] } as never), "data.at[0]"],
    [sessionManager.appendCustom("mine", undefined as never), "data"],
    [sessionManager.appendCustom("mine", { n: NaN }), "data.n"],
    [sessionManager.appendCustom(undefined as never, {}), "name"],
    [sessionManager.appendCustom("", {}), "name"],
    [sessionManager.label(leaf, 5 as never), "label"],
    [sessionManager.label(leaf, undefined as never), "label"],
  ];
  for (const [writing, field] of wrong)
    await expect(writing).rejects.toMatchObject({ code: "INVALID_VALUE", field });
  expect(sessionManager.entries()).toHaveLength(count);
  const id = await sessionManager.appendCustom("mine", { some: 1, none: undefined });
  expect(await sessionManager.read(id)).toMatchObject({ data: { some: 1 } });
});
