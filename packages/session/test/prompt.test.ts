import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { expect, it } from "vitest";
import { assemble } from "../src/prompt/assemble.ts";
import { PromptBuilder } from "../src/prompt/builder.ts";
import { folder, session, tool } from "./support.ts";

async function profile(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await folder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, ".."), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return path;
}

const system = (model: ReturnType<typeof scriptedModel>, call = 0): string =>
  String(model.calls[call]?.request.messages[0]?.content);

const SKILL = `---
name: baking
description: >
  How to bake
  bread.
---
Knead for ten minutes.
`;

it("O11: the parts stand in their order", async () => {
  const path = await profile({
    "SYSTEM.md": "I am the system.",
    "SOUL.md": "I am the soul.",
    "MEMORY.md": "Likes tea.",
    "USER.md": "Called Ada.",
    "knowledge/physics.md": "g is 9.81.",
    "skills/baking/SKILL.md": SKILL,
    "docs/setup.md": "how to set up",
  });
  const model = scriptedModel(["ok"]);
  const prompt = { directories: [path], docs: join(path, "docs"), append: "APPENDED" };
  const agent = session({
    model,
    prompt,
    cwd: "/somewhere/else",
    sessionId: "s1",
    clock: virtualClock({ now: 0 }),
  });
  await agent.invoke("Hello", { channel: "telegram" });
  const text = system(model);
  const order = [
    "I am the system.",
    `- setup: ${join(path, "docs", "setup.md")}`,
    "APPENDED",
    "g is 9.81.",
    "Likes tea.",
    "Called Ada.",
    "<name>baking</name>",
    "<description>How to bake bread.</description>",
    `<location>${join(path, "skills/baking/SKILL.md")}</location>`,
    "Telegram",
    "Current date: 1970-01-01",
    "Current working directory: /somewhere/else",
    `Directory: ${path}`,
    "Session ID: s1",
  ].map((part) => text.indexOf(part));
  expect(order).not.toContain(-1);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(text).not.toContain("the soul");
  expect(text).not.toContain("Knead");
});

it("O11: what is appended has to be a text", async () => {
  const model = scriptedModel(["ok"]);
  const agent = session({ model, prompt: { append: () => ({ said: "APPENDED" }) as never } });
  await expect(agent.invoke("Hello")).rejects.toThrow(/SessionAgent\.prompt\.append\(\) is .*a string/);
  expect(model.calls).toEqual([]);
});

it("O11: SYSTEM.md, else SOUL.md, else the default", async () => {
  for (const [files, expected] of [
    [{ "SOUL.md": "I am the soul." }, "I am the soul."],
    [{}, "You are a helpful assistant."],
  ] as const) {
    const model = scriptedModel(["ok"]);
    await session({ model, prompt: { directories: [await profile(files)] } }).invoke("Hello");
    expect(system(model).startsWith(expected)).toBe(true);
  }
});

it("O11: of a file that several folders have, the last counts", async () => {
  const directories = [
    await profile({ "SOUL.md": "general", "USER.md": "Ada" }),
    await profile({ "SOUL.md": "special" }),
  ];
  const model = scriptedModel(["ok"]);
  await session({ model, prompt: { directories } }).invoke("Hello");
  expect(system(model)).toMatch(/^special[\s\S]*Ada/);
});

it("O11: a skill whose lines end in blanks, or whose name is left empty, is listed under its folder's name", async () => {
  const path = await profile({
    "skills/baking/SKILL.md": "---  \nname:\ndescription: Bread  \n---  \nKnead.",
  });
  const model = scriptedModel(() => "ok");
  await session({ model, prompt: { directories: [path] } }).invoke("x");
  const prompt = String(model.calls[0]?.request.messages[0]?.content);
  expect(prompt).toContain("<name>baking</name>");
  expect(prompt).toContain("<description>Bread</description>");
});

it("O11: of skills, those with a description are listed, as a person writes it", async () => {
  const path = await profile({
    "skills/a/SKILL.md": "---\nname: \"The Baker\"\ndescription: 'Bread: quickly'\n---\nKnead.",
    "skills/b/SKILL.md": "description: without the lines around it",
    "skills/c/SKILL.md": "---\ndescription: without the line after it\n",
    "skills/d/SKILL.md": "---\nname: d\n---\ndescription: below the lines",
    "skills/e/SKILL.md": '---\ndescription: "\n---\n',
    "skills/f/SKILL.md": "---\n indented\ndescription: it's so\n---\n",
    "skills/g/notes.md": "---\ndescription: no skill\n---\n",
  });
  const model = scriptedModel(() => "ok");
  await session({ model, prompt: { directories: [path] } }).invoke("x");
  const listed = [...system(model).matchAll(/<name>(.*)<\/name>\s*<description>(.*)<\/description>/g)];
  expect(listed.map(([, name, description]) => [name, description])).toEqual([
    ["The Baker", "Bread: quickly"],
    ["e", '"'],
    ["f", "it's so"],
  ]);
});

it("O11: skills are listed only where one can be read", () => {
  const skills = [{ name: "baking", description: "Bread", location: "/skills/baking/SKILL.md" }];
  const files = { system: undefined, soul: undefined, memory: undefined, user: undefined };
  const facts = { channel: null, date: "1970-01-01", cwd: "/", sessionId: null, appended: "" };
  const prompt = (...toolNames: string[]): string =>
    assemble({}, { ...files, knowledge: [], docs: [], skills }, { ...facts, toolNames });
  const listing = [[], ["look"], ["look", "read"], ["skill", "look"]].map((names) => prompt(...names));
  expect(listing.map((text) => text.includes("baking"))).toEqual([false, false, true, true]);
});

it("O11: a skill's body is read by the skill tool, and only what is listed can be read", async () => {
  const path = await profile({ "skills/baking/SKILL.md": SKILL, "secret.md": "hidden" });
  const model = scriptedModel([
    {
      toolCalls: [
        { name: "skill", arguments: { name: "baking" } },
        { name: "skill", arguments: { name: "../../secret" } },
      ],
    },
    "ok",
  ]);
  await session({ model, prompt: { directories: [path] } }).invoke("Bake");
  const [body, refused] = model.calls[1]?.request.messages.slice(-2) ?? [];
  expect(body?.content).toBe("Knead for ten minutes.");
  expect(refused?.content).toBe('error: there is no skill "../../secret"; available: baking');
});

it("O18: the same facts give the same bytes; memory, reload, day, session and tools change them", async () => {
  const path = await profile({ "SOUL.md": "one", "MEMORY.md": "first" });
  const clock = virtualClock({ now: 0 });
  const model = scriptedModel(() => "ok");
  const agent = session({ model, prompt: { directories: [path] }, clock, sessionId: "s1" });
  await agent.invoke("a");
  await writeFile(join(path, "SOUL.md"), "two");
  await agent.invoke("b");
  expect(system(model, 1)).toBe(system(model, 0));
  await writeFile(join(path, "MEMORY.md"), "second");
  await utimes(join(path, "MEMORY.md"), 1, 1);
  await agent.invoke("c");
  expect(system(model, 2)).toContain("second");
  await writeFile(join(path, "SOUL.md"), "three");
  await agent.reload();
  await agent.invoke("d");
  expect(system(model, 3)).toContain("three");
  await clock.advance(86_400_000);
  await agent.invoke("e");
  expect(system(model, 4)).toContain("1970-01-02");
  const other = await agent.newSession();
  await agent.invoke("f");
  expect(system(model, 5)).toContain(`Session ID: ${other}`);
});

it("O18: each channel has its own prompt", async () => {
  const model = scriptedModel(() => "ok");
  const agent = session({ model, prompt: { platforms: { ship: "Write as a telegraph." } } });
  for (const channel of ["slack", "ship", undefined, "slack", "__proto__"])
    await agent.invoke("x", { channel });
  const prompts = model.calls.map((_, at) => system(model, at));
  expect(prompts[0]).toContain("Slack");
  expect(prompts[1]).toContain("telegraph");
  expect(prompts[2]).not.toMatch(/Slack|telegraph/);
  expect(prompts[3]).toBe(prompts[0]);
  expect(prompts[4]).toBe(prompts[2]);
});

it("O10: live state goes with one model call, with text and image, and is never written", async () => {
  let looks = 0;
  const model = scriptedModel([{ toolCalls: [{ name: "click", arguments: {} }] }, "Done.", "Again."]);
  const screen = {
    name: "screen",
    look: () => [
      { type: "text", text: `look ${++looks}` } as const,
      { type: "image", url: "data:image/png;base64,AA==" } as const,
    ],
  };
  const broken = {
    name: "browser",
    look: () => {
      throw new Error("closed");
    },
  };
  const nothing = { name: "editor", look: () => undefined };
  const agent = session({
    model,
    tools: [tool("click", () => "clicked")],
    ephemeral: [screen, broken, nothing],
  });
  await agent.invoke("Click it.");
  const shown = (call: number): unknown => model.calls[call]?.request.messages.at(-1);
  expect(shown(0)).toMatchObject({ role: "user", content: [{}, { text: "look 1" }, { type: "image" }] });
  expect(shown(1)).toMatchObject({ role: "user", content: [{}, { text: "look 2" }, { type: "image" }] });
  expect(JSON.stringify(model.calls[1]?.request.messages)).not.toContain("look 1");
  expect(JSON.stringify(await agent.sessionManager.messages())).not.toContain("look");
  expect(agent.errors[0]).toMatchObject({ source: "browser", event: "look" });
});

it.each(["skills", "knowledge", "docs"])(
  "O11: a folder %s that is there and cannot be read is an error, since the agent would behave differently without it",
  async (name) => {
    const path = await profile({ "SYSTEM.md": "I am the system." });
    // A link to itself: it is there, and nobody can read it.
    await symlink(name, join(path, name));
    const agent = session({
      model: scriptedModel(["ok"]),
      prompt: { directories: [path], docs: join(path, "docs") },
    });
    await expect(agent.invoke("Hello")).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: join(path, name),
    });
  },
);

it("O11: whoever asks while changed files are read waits for them, and does not build a prompt from the old ones", async () => {
  const path = await profile({ "SYSTEM.md": "Old." });
  const builder = new PromptBuilder({ directories: [path], footer: false }, path);
  const facts = { channel: null, date: "", cwd: path, sessionId: null, toolNames: [] };
  await builder.prepare();
  await writeFile(join(path, "SYSTEM.md"), "New.");
  builder.reload();
  const prompts = await Promise.all(
    [1, 2, 3].map(async () => {
      await builder.prepare();
      return builder.build(facts);
    }),
  );
  expect(prompts).toEqual(["New.", "New.", "New."]);
});
