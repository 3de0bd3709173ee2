import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, AgentId, cancel, inspect, type RunContext, start } from "@ravi/sdk";
import { expect, onTestFinished, test, vi } from "vitest";
import { Service } from "../src/service.ts";

/** An agent that waits for somebody. */
function waiter(version: string): Agent {
  return {
    id: AgentId("waiter"),
    version,
    run: async (ctx: RunContext) => ({
      status: "completed",
      output: String(await ctx.waitFor("word")),
      stopReason: "done",
    }),
  };
}

/** A journal, and what the service says; `until` resolves when it has said that. */
async function setUp() {
  const journal = await mkdtemp(join(tmpdir(), "ravi-service-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
  const lines: string[] = [];
  let said = Promise.withResolvers<void>();
  const say = (line: string): void => {
    lines.push(line);
    said.resolve();
    said = Promise.withResolvers();
  };
  for (const method of ["log", "error"] as const) vi.spyOn(console, method).mockImplementation(say);
  onTestFinished(() => void vi.restoreAllMocks());
  const until = async (line: RegExp): Promise<void> => {
    while (!lines.some((each) => line.test(each))) await said.promise;
  };
  return { journal, lines, until };
}

test("a process that has to end does not resume what it has just suspended", async () => {
  const { journal, lines, until } = await setUp();
  const agent = waiter("1");
  const service = new Service([agent], journal);
  service.start(agent, "Wait.", "r");
  const draining = service.drain(1_000);
  await service.resumeAll();
  await draining;
  await until(/^r is suspended$/);
  await service.resumeAll();
  await service.drain(0);
  expect(lines).toEqual(["r is suspended"]);
  expect((await inspect("r", { journal })).heldBy).toBeUndefined();
});

test("a run that cannot continue, because nobody has the version of its agent any more, ends when it was cancelled", async () => {
  const { journal, lines, until } = await setUp();
  await start(waiter("1"), "Wait.", { runId: "r", journal }).suspend();
  const service = new Service([waiter("2")], journal);
  await service.resumeAll();
  await until(/^r cannot continue here: .*waiter@1 is not registered/);
  await service.resumeAll();
  await cancel("r", "nobody has this version", { journal });
  await service.resumeAll();
  await until(/^r is cancelled$/);
  expect(lines).toHaveLength(2);
});
