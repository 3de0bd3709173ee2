import { expect, test } from "vitest";
import { defineTool, type Journal, textOf } from "@ravi/kernel";
import * as z from "zod";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { agent, ask, done, turns, until } from "./support/helpers.ts";

test("a restart waits for what is being written: a call whose end is on its way to the disk is not made again", async () => {
  let payments = 0;
  const pay = defineTool({
    name: "pay",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: () => `paid ${++payments}`,
  });
  const worker = agent("worker", async (ctx) => {
    const { content } = await ctx.tool({ id: "c", name: "pay", arguments: "{}" }, pay);
    return done(String(content));
  });
  const [ending, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const kept = new MemoryJournal();
  const journal: Journal = Object.assign(Object.create(kept) as Journal, {
    async append(...given: Parameters<Journal["append"]>) {
      const [{ key, phase } = { key: "", phase: "" }] = given[2];
      if (key.startsWith("tool:") && phase === "end") {
        ending.resolve();
        await written.promise;
      }
      kept.append(...given);
    },
  });
  let starts = 0;
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(worker, { input: "" });
    if (++starts === 1) {
      await ending.promise;
      throw new RangeError("no");
    }
    const outcome = await ctx.join(handle);
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  let asked = 0;
  const restart = { shouldRetry: () => ++asked === 1, delayMs: () => 0, reset: () => {} };
  const { result } = new Runtime({ journal, agents: [lead, worker], restart }).run(lead, "");
  await until(() => asked === 1);
  // Long after a restart that does not wait for it would have read the journal.
  setTimeout(() => written.resolve(), 200);
  expect(await result).toMatchObject({ status: "completed", output: "paid 1" });
  expect([starts, payments]).toEqual([2, 1]);
});

test("T5: a restart also waits for what follows from an answer of the journal: a call that was withdrawn is not in doubt", async () => {
  const [beginning, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const kept = new MemoryJournal();
  const journal: Journal = Object.assign(Object.create(kept) as Journal, {
    async append(...given: Parameters<Journal["append"]>) {
      const [{ key, phase } = { key: "", phase: "" }] = given[2];
      if (key.startsWith("llm:") && phase === "begin") {
        beginning.resolve();
        await begun.promise;
      }
      // A disk that is slower than a few turns of the event loop.
      await turns();
      kept.append(...given);
    },
  });
  let calls = 0;
  const model = scriptedModel(() => `answer ${++calls}`);
  const worker = agent("worker", async (ctx) => done(textOf((await ctx.llm(model, ask("?"))).message)));
  let starts = 0;
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(worker, { input: "" });
    if (++starts === 1) {
      await beginning.promise;
      throw new RangeError("no");
    }
    const outcome = await ctx.join(handle);
    return done("result" in outcome ? outcome.result.output : outcome.status);
  });
  let asked = 0;
  const restart = { shouldRetry: () => ++asked === 1, delayMs: () => 0, reset: () => {} };
  const { result } = new Runtime({ journal, agents: [lead, worker], restart }).run(lead, "");
  await until(() => asked === 1);
  // Long after the agents of the crashed attempt were given up.
  setTimeout(() => begun.resolve(), 200);
  expect(await result).toMatchObject({ status: "completed", output: "answer 1", inDoubt: [] });
});
