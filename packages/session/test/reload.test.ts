import { writeFileSync } from "node:fs";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineExtension } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { folder, session, tool } from "./support.ts";

const guard = (reason: string) =>
  `export default { name: "guard", beforeCall: () => ({ action: "block", reason: ${JSON.stringify(reason)} }) };`;
const calling = () =>
  scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "ok" : { toolCalls: [{ name: "send", arguments: {} }] },
  );

it("O17: a reload of a guardrail that cannot be read says so, and the guardrail that was there goes on", async () => {
  const path = join(await folder(), "guard.mjs");
  await writeFile(path, guard("first"));
  let sent = 0;
  const model = calling();
  const agent = session({ model, tools: [tool("send", () => ++sent)], guardrails: [path] });
  await agent.invoke("x");
  await writeFile(path, "export default {{{");
  await expect(agent.reload()).rejects.toMatchObject({ code: "INVALID_VALUE", field: "file" });
  expect((await agent.invoke("y")).output).toBe("ok");
  expect(sent).toBe(0);
  expect(model.calls.at(-1)?.request.messages.at(-1)?.content).toContain("first");
  await writeFile(path, guard("second"));
  await agent.reload();
  await agent.invoke("z");
  expect(model.calls.at(-1)?.request.messages.at(-1)?.content).toContain("second");
});

it("a reload during a turn that finds something broken is collected, and the next turn goes on with what was there", async () => {
  const path = join(await folder(), "guard.mjs");
  await writeFile(path, guard("first"));
  const agent = session({
    model: calling(),
    tools: [tool("send", () => 1)],
    guardrails: [path],
    extensions: [
      defineExtension({
        name: "reloader",
        on: {
          async input(_, context) {
            await writeFile(path, "not a module {{{");
            await context.reload();
          },
        },
      }),
    ],
  });
  expect((await agent.invoke("x")).output).toBe("ok");
  expect((await agent.invoke("y")).output).toBe("ok");
  expect(agent.errors).toMatchObject([{ source: "session", event: "reload" }]);
});

it("a first load that fails is an error of the turn, and the next turn tries again", async () => {
  const path = join(await folder(), "guard.mjs");
  const agent = session({ model: calling(), tools: [tool("send", () => 1)], guardrails: [path] });
  await expect(agent.invoke("x")).rejects.toMatchObject({ code: "INVALID_VALUE" });
  await writeFile(path, guard("now"));
  expect((await agent.invoke("y")).output).toBe("ok");
});

it("O18: after a reload, and in another session, a child does not get the old prompt", async () => {
  const directory = await folder();
  await writeFile(join(directory, "SYSTEM.md"), "Old.");
  const model = scriptedModel(() => "ok");
  const agent = session({ model, prompt: { directories: [directory] }, sessionId: "one" });
  await agent.invoke("x");
  await writeFile(join(directory, "SYSTEM.md"), "New.");
  await agent.reload();
  await agent.spawnChild().invoke("y");
  expect(model.calls[1]?.request.messages[0]?.content).toMatch(/^New\./);
  await agent.invoke("z");
  const other = await agent.newSession();
  await agent.spawnChild().invoke("y");
  expect(model.calls[3]?.request.messages[0]?.content).toContain(`Session ID: ${other}`);
});

it("O16: a child that is asked on no channel has the bytes of its parent's last prompt", async () => {
  const model = scriptedModel(() => "ok");
  const agent = session({ model });
  await agent.invoke("x", { channel: "telegram" });
  await agent.spawnChild().invoke("y");
  expect(model.calls[1]?.request.messages[0]).toEqual(model.calls[0]?.request.messages[0]);
});

it.each([
  ["too long", (path: string) => writeFile(path, "x".repeat(1_000_001)), "1000001 bytes"],
  ["a folder", (path: string) => mkdir(path), "a folder"],
  ["a link to itself", (path: string) => symlink(path, path), "ELOOP"],
  ["a link that leads nowhere", (path: string) => symlink(`${path}.gone`, path), "ENOENT"],
])("O11: a SYSTEM.md that is %s is an error, and what was there goes on", async (_, spoil, why) => {
  const directory = await folder();
  const path = join(directory, "SYSTEM.md");
  await writeFile(path, "You are GUARDED.");
  const model = scriptedModel(() => "ok");
  const agent = session({ model, prompt: { directories: [directory] } });
  await agent.invoke("x");
  await rm(path);
  await spoil(path);
  const problem = await agent.reload().catch((error: unknown) => error);
  expect(problem).toMatchObject({ code: "INVALID_VALUE", field: path });
  expect(String(problem)).toContain(why);
  await agent.invoke("y");
  expect(model.calls.map(({ request }) => String(request.messages[0]?.content).slice(0, 16))).toEqual([
    "You are GUARDED.",
    "You are GUARDED.",
  ]);
  const other = session({ model, prompt: { directories: [directory] } });
  await expect(other.invoke("x")).rejects.toMatchObject({ code: "INVALID_VALUE", field: path });
  await rm(path, { recursive: true });
  await writeFile(path, "You are mended.");
  await agent.reload();
  await agent.invoke("z");
  expect(model.calls.at(-1)?.request.messages[0]?.content).toMatch(/^You are mended\./);
});

it("O11: a MEMORY.md that cannot be read any more is told, and what it said goes on", async () => {
  const directory = await folder();
  const path = join(directory, "MEMORY.md");
  await writeFile(path, "Acme pays late.");
  const model = scriptedModel(() => "ok");
  const agent = session({ model, prompt: { directories: [directory] } });
  await agent.invoke("x");
  await rm(path);
  await mkdir(path);
  await agent.invoke("y");
  expect(model.calls.at(-1)?.request.messages[0]?.content).toContain("Acme pays late.");
  expect(agent.errors).toMatchObject([{ source: "session", event: "prompt", error: { field: path } }]);
});

it("a turn that is begun while a reload is under way waits for what it brings", async () => {
  const path = join(await folder(), "extension.mjs");
  const says = (text: string) =>
    `export default { name: "e", on: { before_agent_start: () => ({ systemPrompt: "${text}" }) } };`;
  await writeFile(path, says("one"));
  const model = scriptedModel(() => "ok");
  const agent = session({ model, extensions: [path] });
  await agent.invoke("x");
  await writeFile(path, says("two"));
  const reloading = agent.reload();
  await agent.invoke("y");
  await reloading;
  expect(model.calls.map(({ request }) => request.messages[0]?.content)).toEqual(["one", "two"]);
});

it("a turn that waits for a reload gets what is there after the last one, also where that came in the middle of another", async () => {
  const path = join(await folder(), "extension.mjs");
  const says = (text: string) =>
    `export default { name: "e", on: { before_agent_start: () => ({ systemPrompt: "${text}" }) } };`;
  await writeFile(path, says("one"));
  const model = scriptedModel(() => "ok");
  let made = 0;
  // Guardrails are made after the extensions were read.
  const meanwhile = () => {
    if (++made === 2) {
      writeFileSync(path, says("the third"));
      void agent.reload();
    }
    return { name: "g", beforeCall: () => undefined };
  };
  const agent = session({ model, extensions: [path], guardrails: [meanwhile] });
  await agent.invoke("x");
  await writeFile(path, says("two"));
  const reloading = agent.reload();
  await agent.invoke("y");
  await reloading;
  expect(model.calls.map(({ request }) => request.messages[0]?.content)).toEqual(["one", "the third"]);
  expect(made).toBe(3);
});

it("O15, O17: a function of a file that throws is an error that names the file", async () => {
  const path = join(await folder(), "broken.mjs");
  await writeFile(path, 'export default () => { throw new Error("no config"); };');
  const model = scriptedModel(() => "ok");
  for (const options of [{ extensions: [path] }, { guardrails: [path] }]) {
    const problem = await session({ model, ...options })
      .invoke("x")
      .catch((error: unknown) => error);
    expect(problem).toMatchObject({ code: "INVALID_VALUE", field: path });
    expect(String(problem)).toContain("no config");
  }
});

it("O18: the prompts of the newest channels are kept for children, and no more", async () => {
  const model = scriptedModel(() => "ok");
  const channels = Array.from({ length: 65 }, (_, at) => `chat ${at}`);
  const extension = defineExtension({
    name: "channels",
    on: { before_agent_start: ({ channel }) => ({ systemPrompt: `on ${channel}` }) },
  });
  const agent = session({ model, extensions: [extension] });
  for (const channel of channels) await agent.invoke("x", { channel });
  const child = agent.spawnChild();
  for (const channel of ["chat 64", "chat 1", "chat 0"]) await child.invoke("y", { channel });
  const [newest, second, oldest] = model.calls.slice(-3).map(({ request }) => request.messages[0]?.content);
  expect([newest, second]).toEqual(["on chat 64", "on chat 1"]);
  expect(oldest).not.toBe("on chat 0");
});
