import { expect, test } from "vitest";
import type { Agent } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { Runtime } from "@ravi/runtime";
import { agent, done } from "./helpers.ts";

// A guard at a level that is misspelt guarded nothing, and nobody heard of it.

const guard = { isNoop: false, admit: () => undefined, run: (_: unknown, core: () => unknown) => core() };
const plain = agent("plain", async () => done("unguarded"));
const misspelt: Agent = { ...plain, pipelines: { chats: guard } as never };
const refused = { code: "INVALID_VALUE", field: "agent plain: pipelines.chats" };

test("R11: a level of an agent's own layers that is misspelt is refused, in a run and in a hire", async () => {
  await expect(new Runtime().run(misspelt, "").result).rejects.toMatchObject(refused);
  const lead = agent("lead", async (ctx) => {
    const hired = ctx.hire({ kind: "hire", agent: misspelt, input: "" });
    return done(await hired.then(({ status }) => status, String));
  });
  expect((await new Runtime().run(lead, "").result).output).toContain("agent plain: pipelines.chats");
  expect(() => bareContext({ agent: misspelt })).toThrow("agent plain: pipelines.chats");
});

test("R11: so are layers that are none", async () => {
  const none: Agent = { ...plain, pipelines: null as never };
  await expect(new Runtime().run(none, "").result).rejects.toMatchObject({ field: "agent plain: pipelines" });
});

test.each([
  ["nothing", null],
  ["a number", 5],
  ["without a run", { admit: () => undefined }],
  ["without an admit", { run: guard.run }],
])("R11: so is a level whose guard is %s", async (_, chat) => {
  const broken: Agent = { ...plain, pipelines: { chat } as never };
  const field = { code: "INVALID_VALUE", field: "agent plain: pipelines.chat" };
  await expect(new Runtime().run(broken, "").result).rejects.toMatchObject(field);
  expect(() => bareContext({ agent: broken })).toThrow("agent plain: pipelines.chat");
});

test("R11: a guard has only what it is asked for", async () => {
  const chat = { isNoop: false, hasAdmits: false, run: guard.run };
  const guarded: Agent = { ...plain, pipelines: { chat, agent: { isNoop: true } } as never };
  expect(await new Runtime().run(guarded, "").result).toMatchObject({ status: "completed" });
});
