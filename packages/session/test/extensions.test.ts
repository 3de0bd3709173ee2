import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineExtension, type ExtensionContext } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, session, tool } from "./support.ts";

const call = (name: string, id?: string) => ({ name, arguments: {}, ...(id !== undefined && { id }) });

it("O8: handlers get the event and the agent; their errors are collected and never end a turn", async () => {
  const seen: unknown[] = [];
  const broken = defineExtension({
    name: "broken",
    on: {
      input: () => {
        throw new Error("sync");
      },
      context: () => Promise.reject(new Error("async")),
      // A result of the wrong shape is the extension's error too.
      before_agent_start: () => ({ systemPrompt: 7 }) as never,
      settled: (event, agent) => void seen.push([event.sessionId, agent]),
    },
  });
  const agent = session({ model: scriptedModel(["Fine."]), extensions: [broken] });
  expect((await agent.invoke("Hello")).output).toBe("Fine.");
  expect(agent.errors.map(({ source, event }) => [source, event])).toEqual([
    ["broken", "input"],
    ["broken", "before_agent_start"],
    ["broken", "context"],
  ]);
  expect(agent.errors[1]?.error).toMatchObject({
    message: "before_agent_start: systemPrompt is 7; expected a string",
  });
  expect(seen).toEqual([[agent.sessionManager.sessionId, agent]]);
});

it("a handler for an event that does not exist is refused, because it would never be called", () => {
  const typo = { name: "guard", on: { tool_cal: () => ({ block: true }) } };
  const make = () => session({ model: scriptedModel(["x"]), extensions: [typo as never] });
  expect(make).toThrow(
    /^SessionAgent\.extensions\[0\]\.on\.tool_cal is a function; expected no field of that name/,
  );
  expect(make).toThrow(/known fields: input, .*tool_call, /);
});

it("a misspelt field of an extension is refused, because nobody would read it; an instance of a class may have its own", async () => {
  const typo = { name: "guard", on: {}, guardrail: [{ name: "no", beforeCall: () => {} }] };
  expect(() => session({ model: scriptedModel(["x"]), extensions: [typo as never] })).toThrow(
    /^SessionAgent\.extensions\[0\]\.guardrail is .*; expected no field of that name; known fields: name, .*guardrails/,
  );
  const path = await folder();
  await writeFile(join(path, "typo.mjs"), 'export default { name: "x", onn: {} };');
  const agent = session({ model: scriptedModel(["x"]), cwd: path, extensions: ["typo.mjs"] });
  await expect(agent.invoke("Hello")).rejects.toMatchObject({ code: "INVALID_VALUE", field: "typo.mjs.onn" });
  class Counting {
    readonly name = "counting";
    readonly tool = "its own";
    turns = 0;
    readonly on = { agent_end: () => void this.turns++ };
  }
  const counting = new Counting();
  await session({ model: scriptedModel(["x"]), extensions: [counting] }).invoke("Hello");
  expect(counting.turns).toBe(1);
});

it.each([
  ["tool", "tools"],
  ["tolls", "tools"],
  ["tols", "tools"],
  ["toolls", "tools"],
  ["guardrials", "guardrails"],
  ["Tools", "tools"],
  ["guardRail", "guardrails"],
  ["ephemerals", "ephemeral"],
  ["onevent", "onEvent"],
  ["onEvents", "onEvent"],
])("a field %s of a plain extension is refused, with the name that it may stand for", (field, known) => {
  const typo = { name: "guard", [field]: [] };
  expect(() => session({ model: scriptedModel(["x"]), extensions: [typo] })).toThrow(
    new RegExp(`\\.${field} is .*known fields: name, .*; did you mean ${known}\\?`),
  );
});

it("a plain extension may keep state in fields of its own, if their names are unlike those that it can have", async () => {
  const counting = {
    name: "counting",
    turns: 0,
    todos: [] as string[],
    id: 7,
    log: "",
    totals: {},
    on: { agent_end: () => void counting.turns++ },
  };
  await session({ model: scriptedModel(["x"]), extensions: [counting] }).invoke("Hello");
  expect(counting.turns).toBe(1);
});

it("a plain extension may have a field that is nearly one which it has too: nobody has misspelt that one", async () => {
  const counting = {
    name: "counting",
    names: ["a"],
    ok: true,
    tool: "the latest",
    tools: [],
    on: { agent_end: () => void counting.names.push("b") },
  };
  await session({ model: scriptedModel(["x"]), extensions: [counting] }).invoke("Hello");
  expect(counting.names).toEqual(["a", "b"]);
});

it("a field of an extension that is undefined is not one that it has, so a misspelt one beside it is refused", () => {
  const open = (extension: object) =>
    session({ model: scriptedModel(["x"]), extensions: [extension as never] });
  const whole = { name: "guard", guardrails: undefined, tools: undefined };
  expect(() => open(whole)).not.toThrow();
  expect(() => open({ ...whole, guardrail: [] })).toThrow(/\.guardrail is .*; did you mean guardrails\?/);
});

it("O8: a handler that never settles does not outlive an abort", async () => {
  const never = defineExtension({ name: "never", on: { context: () => new Promise(() => {}) } });
  const agent = session({ model: scriptedModel(["x"]), extensions: [never] });
  const turn = agent.invoke("Hello").catch((error: unknown) => error);
  await Promise.resolve();
  agent.abort();
  expect(await turn).toMatchObject({ code: "CANCELLED" });
});

it("O9: tool_call may block; the model gets an error and the tool is not run", async () => {
  let runs = 0;
  const guard = defineExtension({
    name: "guard",
    on: {
      tool_call: ({ call: asked }) =>
        asked.name === "rm" ? { block: true, reason: "not today" } : undefined,
    },
  });
  const model = scriptedModel([{ toolCalls: [call("rm", "a"), call("ls", "b")] }, "ok"]);
  await session({
    model,
    tools: [tool("rm", () => ++runs), tool("ls", () => "files")],
    extensions: [guard],
  }).invoke("Go");
  expect(runs).toBe(0);
  expect(model.calls[1]?.request.messages.slice(-2)).toEqual([
    { role: "tool", toolCallId: "a", name: "rm", content: "error: blocked: not today", isError: true },
    { role: "tool", toolCallId: "b", name: "ls", content: "files" },
  ]);
});

it("O9: patches of tool_result accumulate: each handler sees what those before it have made", async () => {
  const first = defineExtension({
    name: "1",
    on: { tool_result: ({ content }) => ({ content: `${String(content)}+1` }) },
  });
  const second = defineExtension({
    name: "2",
    on: { tool_result: ({ content }) => ({ content: `${String(content)}+2`, isError: true }) },
  });
  const model = scriptedModel([{ toolCalls: [call("look", "a")] }, "ok"]);
  await session({ model, tools: [tool("look", () => "0")], extensions: [first, second] }).invoke("Go");
  expect(model.calls[1]?.request.messages.at(-1)).toEqual({
    role: "tool",
    toolCallId: "a",
    name: "look",
    content: "0+1+2",
    isError: true,
  });
});

it("O9: the follow-up call is skipped only if every tool of the batch terminates", async () => {
  const ends = defineExtension({
    name: "ends",
    on: { tool_result: ({ call: asked }) => ({ terminate: asked.name === "finish" }) },
  });
  const tools = [tool("finish", () => "finished"), tool("look", () => "seen")];
  const both = scriptedModel([{ toolCalls: [call("finish", "a"), call("look", "b")] }, "one more"]);
  expect((await session({ model: both, tools, extensions: [ends] }).invoke("Go")).output).toBe("one more");
  const all = scriptedModel([{ toolCalls: [call("finish", "a"), call("finish", "b")] }]);
  expect((await session({ model: all, tools, extensions: [ends] }).invoke("Go")).output).toBe("finished");
  expect(all.calls).toHaveLength(1);
});

it("O15: input, before_agent_start and context may replace, and the session keeps what was really said", async () => {
  const extension = defineExtension({
    name: "x",
    on: {
      input: ({ text }) => ({ text: text.toUpperCase() }),
      before_agent_start: ({ systemPrompt }) => ({ systemPrompt: `${systemPrompt} Always.` }),
      context: ({ messages }) => ({ messages: messages.slice(-1) }),
    },
  });
  const model = scriptedModel(["one", "two"]);
  const agent = session({ model, extensions: [extension], prompt: { identity: "Be kind.", footer: false } });
  await agent.invoke("first");
  await agent.invoke("second");
  expect(model.calls[1]?.request.messages).toEqual([
    { role: "system", content: "Be kind. Always." },
    { role: "assistant", content: "one" },
    { role: "user", content: "SECOND" },
  ]);
  expect(await agent.sessionManager.messages()).toHaveLength(4);
});

it("O14: an extension's context has all that it is promised", async () => {
  let got: Record<string, unknown> = {};
  const look = (agent: ExtensionContext): void => {
    got = {
      cwd: agent.cwd,
      leaf: agent.sessionManager.leaf === null,
      model: agent.model.id,
      models: agent.modelRegistry.list().map(({ id }) => id),
      aborted: agent.signal?.aborted,
      idle: agent.isIdle(),
      pending: agent.hasPendingMessages(),
      usage: agent.contextUsage(),
      prompt: agent.systemPrompt(),
    };
  };
  const model = scriptedModel(["x"], { info: { contextWindow: 1_000 } });
  const extension = defineExtension({ name: "x", on: { context: (_, agent) => look(agent) } });
  const agent = session({
    model,
    extensions: [extension],
    cwd: "/somewhere",
    prompt: { identity: "P", footer: false },
  });
  await agent.invoke("Hello");
  expect(got).toEqual({
    cwd: "/somewhere",
    leaf: true,
    model: "scripted/scripted",
    models: ["scripted/scripted"],
    aborted: false,
    idle: false,
    pending: false,
    usage: { tokens: 0, window: 1_000 },
    prompt: "P",
  });
});

it("O14: an extension may abort, keep entries of its own, and ask for a compaction after the turn", async () => {
  const extension = defineExtension({
    name: "x",
    on: {
      async message_end({ message }, agent) {
        if (message.role === "user") await agent.sessionManager.appendCustom("note", { n: 1 });
      },
      agent_end: (_, agent) => agent.compact(),
    },
  });
  const model = scriptedModel(["a long enough answer to be shortened", "two"]);
  const compaction = { compact: () => [{ role: "user", content: "s" } as const] };
  const agent = session({ model, extensions: [extension], compaction });
  await agent.invoke("Hello");
  expect(agent.sessionManager.path().map(({ kind }) => kind)).toEqual([
    "message",
    "custom",
    "message",
    "compaction",
  ]);
  await agent.invoke("And?");
  expect(model.calls[1]?.request.messages.slice(1)).toEqual([
    { role: "user", content: "s" },
    { role: "user", content: "And?" },
  ]);
});

it("O1: the loop's own events reach extensions and observers, streamed text included", async () => {
  const told: string[] = [];
  const extension = defineExtension({ name: "x", onEvent: (event) => told.push(event.type) });
  const agent = session({ model: scriptedModel(["Hello there, you."]), extensions: [extension] });
  await agent.reload();
  const events = agent.events();
  await agent.invoke("Hi");
  expect(told.filter((type) => type === "text").length).toBeGreaterThan(1);
  let text = "";
  for await (const event of events) {
    if (event.type === "text") text += event.delta;
    if (event.type === "settled") break;
  }
  expect(text).toBe("Hello there, you.");
});

it("O8: what an extension makes of an event of the loop disturbs nobody, and its errors are collected, the newest hundred", async () => {
  let told = 0;
  const extensions = [
    defineExtension({ name: "quiet", on: {} }),
    defineExtension({
      name: "throws",
      onEvent: ({ type }) => {
        if (type === "step") throw new Error("sync");
      },
    }),
    defineExtension({
      name: "rejects",
      onEvent: async ({ type }) => {
        if (type === "step") throw new Error("async");
      },
    }),
    defineExtension({ name: "hears", onEvent: () => void told++ }),
  ];
  const agent = session({ model: scriptedModel(["Fine."]), extensions });
  expect((await agent.invoke("Hello")).output).toBe("Fine.");
  expect(told).toBeGreaterThan(0);
  expect(agent.errors.map(({ source, event, error }) => [source, event, String(error)])).toEqual([
    ["throws", "step", "Error: sync"],
    ["rejects", "step", "Error: async"],
  ]);

  let heard = 0;
  const loud = defineExtension({
    name: "loud",
    onEvent: () => {
      throw new Error(`${++heard}`);
    },
  });
  const words = Array.from({ length: 200 }, (_, n) => `word ${n}`).join(" ");
  const long = session({ model: scriptedModel([words]), extensions: [loud] });
  await long.reload();
  const events = long.events();
  await long.invoke("Go");
  await events.return?.();
  expect(heard).toBeGreaterThan(100);
  expect(long.errors).toHaveLength(100);
  expect(String(long.errors.at(-1)?.error)).toBe(`Error: ${heard}`);
});

it("O9: of a result or a list that is wrong in one place nothing is taken", async () => {
  const extension = defineExtension({
    name: "x",
    on: {
      tool_result: () => ({ content: [{ type: "text", text: "good" }, { type: "text" }] as never }),
      context: ({ messages }) => ({ messages: [...messages, { role: "nobody", content: "x" } as never] }),
    },
  });
  const model = scriptedModel([{ toolCalls: [call("look", "a")] }, "ok"]);
  const agent = session({ model, tools: [tool("look", () => "seen")], extensions: [extension] });
  await agent.invoke("Go");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("seen");
  expect(new Set(agent.errors.map(({ event }) => event))).toEqual(new Set(["context", "tool_result"]));
});

it("O15, O17: extensions and guardrails come from files that the user names, and reload reads them again", async () => {
  const path = await folder();
  const extension = (word: string): string =>
    `export default { name: "shout", on: { input: ({ text }) => ({ text: text + ${JSON.stringify(word)} }) } };`;
  await writeFile(join(path, "shout.mjs"), extension("!"));
  await writeFile(
    join(path, "guard.mjs"),
    `export default () => ({ name: "no", beforeCall: () => ({ action: "block", reason: "no" }) });`,
  );
  const model = scriptedModel((request) => (request.messages.length > 3 ? "ok" : "hm"));
  const agent = session({ model, cwd: path, extensions: ["shout.mjs"], guardrails: ["./guard.mjs"] });
  await agent.invoke("Hello");
  expect(model.calls[0]?.request.messages.at(-1)).toEqual({ role: "user", content: "Hello!" });
  await writeFile(join(path, "shout.mjs"), extension("?"));
  await agent.reload();
  await agent.invoke("Hello");
  expect(model.calls[1]?.request.messages.at(-1)).toEqual({ role: "user", content: "Hello?" });
});

it("O15: a file that cannot be loaded, or exports no extension, is an error that names it", async () => {
  const path = await folder();
  await writeFile(join(path, "none.mjs"), "export default 7;");
  for (const file of ["missing.mjs", "none.mjs"]) {
    const agent = session({ model: scriptedModel(["x"]), cwd: path, extensions: [file] });
    await expect(agent.invoke("Hello")).rejects.toMatchObject({
      code: "INVALID_VALUE",
      message: expect.stringContaining(file),
    });
  }
});
