import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineExtension, type Guardrail, type SessionAgentOptions } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, session, tool } from "./support.ts";

const once = (name = "look") => scriptedModel([{ toolCalls: [{ name, arguments: {}, id: "a" }] }, "ok"]);
const look = tool("look", () => "seen");

it("O17: allow, warn, block and halt before a call", async () => {
  const outcomes: unknown[] = [];
  for (const action of ["allow", "warn", "block"] as const) {
    const model = once();
    const guardrail: Guardrail = { name: "g", beforeCall: () => ({ action, reason: "careful" }) };
    await session({ model, tools: [look], guardrails: [guardrail] }).invoke("Go");
    outcomes.push(model.calls[1]?.request.messages.at(-1)?.content);
  }
  expect(outcomes).toEqual(["seen", "seen\n[warning: careful]", "error: careful"]);

  let runs = 0;
  const halting: Guardrail = { name: "g", beforeCall: () => ({ action: "halt", reason: "stop" }) };
  const model = once();
  const agent = session({ model, tools: [tool("look", () => ++runs)], guardrails: [halting] });
  await expect(agent.invoke("Go")).rejects.toMatchObject({
    code: "MIDDLEWARE_TERMINATION",
    layer: "g",
    reason: "stop",
  });
  expect([runs, model.calls.length]).toEqual([0, 1]);
});

it("O17: warn, block and halt after a call, on what the extensions have made of it", async () => {
  const patch = defineExtension({ name: "x", on: { tool_result: () => ({ content: "patched" }) } });
  const seen: unknown[] = [];
  const guardrail = (action: "warn" | "block" | "halt"): Guardrail => ({
    name: "g",
    afterCall: (_, { content }) => {
      seen.push(content);
      return { action, reason: "hm" };
    },
  });
  const warn = once();
  await session({ model: warn, tools: [look], extensions: [patch], guardrails: [guardrail("warn")] }).invoke(
    "Go",
  );
  expect(warn.calls[1]?.request.messages.at(-1)?.content).toBe("patched\n[warning: hm]");
  const block = once();
  await session({
    model: block,
    tools: [look],
    extensions: [patch],
    guardrails: [guardrail("block")],
  }).invoke("Go");
  expect(block.calls[1]?.request.messages.at(-1)).toMatchObject({
    content: "error: the result was withheld: hm",
    isError: true,
  });
  const halt = session({
    model: once(),
    tools: [look],
    extensions: [patch],
    guardrails: [guardrail("halt")],
  });
  await expect(halt.invoke("Go")).rejects.toMatchObject({ code: "MIDDLEWARE_TERMINATION" });
  // The call was made, and the session says so.
  expect((await halt.sessionManager.messages()).map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
  ]);
  expect(seen).toEqual(["patched", "patched", "patched"]);
});

it("O17: before_call comes after the extensions' tool_call: what they block is not asked about", async () => {
  let asked = 0;
  const blocks = defineExtension({ name: "x", on: { tool_call: () => ({ block: true }) } });
  const guardrail: Guardrail = { name: "g", beforeCall: () => void asked++ };
  await session({ model: once(), tools: [look], extensions: [blocks], guardrails: [guardrail] }).invoke("Go");
  expect(asked).toBe(0);
});

it("O4, O17: a guardrail's own error never ends a turn; a call that it could not judge is not made", async () => {
  let runs = 0;
  const broken: Guardrail = {
    name: "broken",
    onTurnStart: () => Promise.reject(new Error("start")),
    beforeCall: () => {
      throw new Error("before");
    },
    afterCall: () => Promise.reject(new Error("after")),
  };
  const model = once();
  const agent = session({ model, tools: [tool("look", () => ++runs)], guardrails: [broken] });
  expect((await agent.invoke("Go")).output).toBe("ok");
  expect(runs).toBe(0);
  expect(model.calls[1]?.request.messages.at(-1)?.content).toContain("the guardrail broken failed");
  expect(agent.errors.map(({ event }) => event)).toEqual(["onTurnStart", "beforeCall"]);
});

it("O17: of the same name, a file wins over an extension's", async () => {
  const path = await folder();
  await writeFile(
    join(path, "g.mjs"),
    `export default { name: "g", beforeCall: () => ({ action: "block", reason: "file" }) };`,
  );
  const guardrails: Guardrail[] = [
    { name: "g", beforeCall: () => ({ action: "block", reason: "extension" }) },
  ];
  const model = once();
  await session({
    model,
    cwd: path,
    tools: [look],
    extensions: [{ name: "x", guardrails }],
    guardrails: ["g.mjs"],
  }).invoke("Go");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("error: file");
});

it("O17: of several guardrails the strictest counts, whichever is asked first", async () => {
  const says = (action: "warn" | "block" | "halt"): Guardrail => ({
    name: action,
    beforeCall: () => ({ action, reason: action }),
  });
  for (const pair of [
    ["warn", "block"],
    ["block", "warn"],
  ] as const) {
    const model = once();
    await session({ model, tools: [look], guardrails: pair.map(says) }).invoke("Go");
    expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("error: block");
  }
  const halted = session({
    model: once(),
    tools: [look],
    guardrails: (["block", "halt"] as const).map(says),
  });
  await expect(halted.invoke("Go")).rejects.toMatchObject({ layer: "halt", reason: "halt" });
});

it("O17: loop detection can be switched off, and a guardrail of its name takes its place", async () => {
  const results = async (options: Pick<SessionAgentOptions, "loopDetection" | "guardrails">) => {
    const model = scriptedModel((request) =>
      request.messages.length > 7 ? "ok" : { toolCalls: [{ name: "look", arguments: {} }] },
    );
    await session({ model, tools: [look], ...options }).invoke("Go");
    const messages = model.calls.at(-1)?.request.messages ?? [];
    return messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  };
  const own: Guardrail = { name: "loop-detection", afterCall: () => ({ action: "warn", reason: "own" }) };
  expect((await results({}))[1]).toContain("[warning: this same call has returned the same result 2 times");
  expect(new Set(await results({ loopDetection: false }))).toEqual(new Set(["seen"]));
  expect(new Set(await results({ guardrails: [own] }))).toEqual(new Set(["seen\n[warning: own]"]));
});

it("O17: a guardrail of results alone may have methods of its own", async () => {
  const guardrail = {
    name: "g",
    reason: () => "careful",
    afterCall() {
      return { action: "warn" as const, reason: this.reason() };
    },
  };
  const model = once();
  await session({ model, tools: [look], guardrails: [guardrail] }).invoke("Go");
  expect(model.calls[1]?.request.messages.at(-1)?.content).toBe("seen\n[warning: careful]");
});

it("O17: the same failing call is warned about at 2 and blocked after 5", async () => {
  let runs = 0;
  const failing = tool("try", () => {
    runs++;
    throw new Error("no");
  });
  const model = scriptedModel((request) =>
    request.messages.length > 14 ? "I give up." : { toolCalls: [{ name: "try", arguments: { a: 1 } }] },
  );
  await session({ model, tools: [failing], loopDetection: { sameTool: { halt: 100 } } }).invoke("Go");
  const results = model.calls.at(-1)?.request.messages.filter(({ role }) => role === "tool") ?? [];
  expect(results[0]?.content).toBe("error: no");
  expect(results[1]?.content).toContain("[warning: this same call has failed 2 times");
  expect(runs).toBe(5);
  expect(results[5]?.content).toContain("was not made again");
});

it("O17: a tool that fails 8 times in a row is halted, and the turn lands", async () => {
  let n = 0;
  const failing = tool("try", () => {
    throw new Error("no");
  });
  const model = scriptedModel((request) =>
    request.tools === undefined
      ? "It does not work."
      : { toolCalls: [{ name: "try", arguments: { n: ++n } }] },
  );
  const result = await session({ model, tools: [failing] }).invoke("Go");
  expect(result).toEqual({ status: "partial", output: "It does not work.", stopReason: "loop" });
  expect(n).toBe(8);
  const results = model.calls.at(-1)?.request.messages.filter(({ role }) => role === "tool") ?? [];
  expect(results.map(({ content }) => String(content).includes("[warning: try has failed"))).toEqual([
    false,
    false,
    ...Array.from({ length: 6 }, () => true),
  ]);
});

it("O17: the same result again is warned about at 2 and blocked after 5", async () => {
  let runs = 0;
  const model = scriptedModel((_, n) => (n === 7 ? "ok" : { toolCalls: [{ name: "poll", arguments: {} }] }));
  const poll = tool("poll", () => {
    runs++;
    return "nothing new";
  });
  await session({ model, tools: [poll] }).invoke("Go");
  const results = model.calls.at(-1)?.request.messages.filter(({ role }) => role === "tool") ?? [];
  expect(results[0]?.content).toBe("nothing new");
  expect(results[1]?.content).toContain("[warning: this same call has returned the same result 2 times");
  expect(results[5]?.content).toContain("was not made again");
  expect(runs).toBe(5);
});

it("O17: loops are counted per turn", async () => {
  const failing = tool("try", () => {
    throw new Error("no");
  });
  let calls = 0;
  const model = scriptedModel(() =>
    ++calls % 5 === 0 ? "enough" : { toolCalls: [{ name: "try", arguments: { calls } }] },
  );
  const agent = session({ model, tools: [failing] });
  for (let turn = 0; turn < 4; turn++) expect((await agent.invoke("Go")).status).toBe("completed");
});

it("O17: a guardrail may only look at the start of turns; one that decides by a method of another name is refused", async () => {
  let turns = 0;
  const counting: Guardrail = { name: "g", onTurnStart: () => void turns++ };
  const agent = session({ model: scriptedModel(["one", "two"]), guardrails: [counting] });
  await agent.invoke("Go");
  await agent.invoke("Go on");
  expect(turns).toBe(2);
  const misnamed = { name: "g", onTurnStart: () => {}, check: () => ({ action: "block", reason: "no" }) };
  for (const guardrail of [{ name: "g" }, misnamed]) {
    await expect(session({ model: once(), guardrails: [guardrail] }).invoke("Go")).rejects.toMatchObject({
      code: "INVALID_VALUE",
      expected: expect.stringContaining("a method onTurnStart, beforeCall or afterCall"),
    });
  }
});

it("a misspelt or broken method beside a good one is refused: nobody would call it", async () => {
  const open = async (guardrail: object) =>
    session({ model: once(), tools: [look], guardrails: [guardrail as Guardrail] }).invoke("Go");
  const good = { name: "g", beforeCall: () => {} };
  await expect(open({ ...good, afterCal: () => {} })).rejects.toMatchObject({
    code: "INVALID_VALUE",
    field: "guardrails[0].afterCal",
    expected: expect.stringMatching(
      /known fields: onTurnStart, beforeCall, afterCall; did you mean afterCall\?$/,
    ),
  });
  await expect(open({ ...good, onTurnstart: () => {} })).rejects.toThrow("did you mean onTurnStart?");
  await expect(open({ ...good, afterCall: "no" })).rejects.toMatchObject({ code: "INVALID_VALUE" });
  // State of its own, and an instance of a class, are nobody's business.
  await open({ ...good, afterCal: 3, reset: () => {} });
  class Own {
    readonly name = "own";
    readonly afterCals = (): void => {};
    beforeCall(): void {}
  }
  await open(new Own());
});
