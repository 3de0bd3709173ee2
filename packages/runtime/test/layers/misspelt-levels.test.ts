import { expect, test } from "vitest";
import { type Agent, defineTool } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { agent, ask, done } from "../support/helpers.ts";

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

test("R11: so is a pipeline that says that its layers are for another level", async () => {
  const chat = { ...guard, level: "function" };
  const expected =
    "plain: pipelines.chat is an object; expected a pipeline of the chat level; this one is of the function level";
  const misplaced: Agent = { ...plain, pipelines: { chat } as never };
  await expect(new Runtime().run(misplaced, "").result).rejects.toThrow(expected);
  expect(() => bareContext({ agent: misplaced })).toThrow(expected);
  expect(() => new Runtime({ pipelines: misplaced.pipelines })).toThrow("runtime options.pipelines.chat");
  const placed: Agent = { ...plain, pipelines: { function: chat } as never };
  expect(await new Runtime().run(placed, "").result).toMatchObject({ status: "completed" });
});

test("R11: a guard has only what it is asked for", async () => {
  const chat = { isNoop: false, hasAdmits: false, run: guard.run };
  const guarded: Agent = { ...plain, pipelines: { chat, agent: { isNoop: true } } as never };
  expect(await new Runtime().run(guarded, "").result).toMatchObject({ status: "completed" });
});

test("R11: so has a guard that a runtime is given, around an agent's that asks, and where a tool needs approval", async () => {
  const quiet = { isNoop: false, hasAdmits: false, run: guard.run } as never;
  const asks = { ...guard, admit: () => void asked.push("admit") } as never;
  const asked: string[] = [];
  const look = defineTool({
    name: "look",
    description: "",
    input: z.object({}),
    needsApproval: true,
    execute: () => "seen",
  });
  const works: Agent = {
    ...agent("works", async (ctx) => {
      await ctx.llm(scriptedModel(["hi"]), ask("hi"));
      const { content } = await ctx.tool({ id: "1", name: "look", arguments: "{}" }, look);
      return done(String(content));
    }),
    pipelines: { agent: asks, chat: asks },
  };
  const runtime = new Runtime({ pipelines: { agent: quiet, chat: quiet, function: quiet } });
  const run = runtime.run(works, "", { runId: "r" });
  await runtime.deliver("r", "approval:r:tool:look#1", true);
  expect(await run.result).toMatchObject({ status: "completed", output: "seen" });
  expect(asked).toEqual(["admit", "admit"]);
});

test("R11: a level that cannot be run is refused of a runtime as of an agent, also where a class gives it", () => {
  class Layers {
    get chat(): unknown {
      return { isNoop: false, run: guard.run };
    }
  }
  const field = { code: "INVALID_VALUE", field: "runtime options.pipelines.chat" };
  expect(() => new Runtime({ pipelines: new Layers() as never })).toThrow(expect.objectContaining(field));
  const none = { chat: { isNoop: true } } as never;
  expect(() => new Runtime({ pipelines: none })).not.toThrow();
});
