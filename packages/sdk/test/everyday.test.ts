import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptedModel } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  agent,
  AgentId,
  deliver,
  type DelegateTool,
  resume,
  runs,
  start,
  textOf,
} from "@ravi/sdk";

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), "utf8");

/** As one line, however it was wrapped. */
const flat = (code: string): string => code.replaceAll(/\s+/g, " ");

test("the code in the table of everyday tasks runs", async () => {
  const [readme, example] = await Promise.all([read("../README.md"), read("everyday.example.ts")]);
  const [, section = ""] = /## Everyday tasks\n([\s\S]*?)\n## /.exec(readme) ?? [];
  const rows = section.split("\n").filter((line) => line.startsWith("| "));
  const pieces = rows.flatMap((row) =>
    Array.from(row.matchAll(/(?<!\[)`([^`]+)`/g), ([, code = ""]) => code),
  );
  expect(rows.length).toBeGreaterThan(10);
  expect(pieces.length).toBeGreaterThan(rows.length);
  for (const piece of pieces) expect(flat(example)).toContain(flat(piece));
  await import("./everyday.example.ts");
});

test("a tool that a person answers waits across restarts, and another process sees the question", async () => {
  const journal = await mkdtemp(join(tmpdir(), "ravi-everyday-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
  const painter = () => {
    const person: Agent = {
      id: AgentId("person"),
      async run(ctx, inbox) {
        const answer = await ctx.waitFor(`person: ${inbox.input}`);
        return { status: "completed", output: String(answer), stopReason: "done" };
      },
    };
    const input = z.object({ question: z.string() });
    const ask: DelegateTool = {
      kind: "delegate",
      name: "ask_person",
      description: "Asks.",
      input,
      hire: (args) => ({ kind: "hire", agent: person, input: input.parse(args).question }),
    };
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "tool") return `It will be ${textOf(last)}.`;
      return { toolCalls: [{ name: "ask_person", arguments: { question: "Which colour?" } }] };
    });
    return { model, agent: agent({ name: "painter", model, tools: [ask] }) };
  };
  const handle = start(painter().agent, "Paint the door.", { journal, runId: "door" });
  const waitsFor = async () =>
    (await runs({ journal }))[0]?.waitingFor?.map(({ kind, name }) => [kind, name]);
  await expect.poll(waitsFor).toEqual([["signal", "person: Which colour?"]]);
  expect((await handle.suspend()).status).toBe("suspended");
  expect(await waitsFor()).toEqual([["signal", "person: Which colour?"]]);
  await deliver("door", "person: Which colour?", "blue", { journal, mustExist: true });
  const next = painter();
  const result = await resume("door", { agents: next.agent, journal });
  expect(result).toMatchObject({ status: "completed", output: "It will be blue." });
  // The question was on record, and not paid for again.
  expect(next.model.calls).toHaveLength(1);
});
