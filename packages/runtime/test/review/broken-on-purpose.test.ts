import { expect, test } from "vitest";
import { defineTool, type Journal, type Outcome, RunId, type Tool } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import * as z from "zod";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { agent, done, turns } from "./helpers.ts";

// Features that were broken on purpose, and of which no test had said a word.

const RUN = RunId("r1");

/** One that cannot tell when something was posted. */
function unwatched(journal: MemoryJournal): Journal {
  return {
    claim: (runId, owner, ttlMs) => journal.claim(runId, owner, ttlMs),
    release: (runId, epoch) => journal.release(runId, epoch),
    load: (runId) => journal.load(runId),
    append: (runId, epoch, entries) => journal.append(runId, epoch, entries),
    post: (runId, item) => journal.post(runId, item),
    items: (runId, after) => journal.items(runId, after),
    list: () => journal.list(),
    delete: (runId) => journal.delete(runId),
    close: () => journal.close(),
  };
}

/** A tool that goes on until it is cut off. */
function slow(onBegin: () => void): Tool {
  return defineTool({
    name: "slow",
    description: "until it is cut off",
    input: z.object({}),
    idempotent: true,
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(new Error("cut off")), { once: true });
        onBegin();
      }),
  });
}

const call = { id: "c", name: "slow", arguments: "{}" };

test("R24: for a run at work, a journal that cannot tell of a post is looked into with every heartbeat", async () => {
  const clock = virtualClock({ now: 1_000 });
  const kept = new MemoryJournal({ clock });
  const runtime = new Runtime({ journal: unwatched(kept), clock });
  const begun = Promise.withResolvers<void>();
  const tool = slow(begun.resolve);
  const busy = agent("busy", async (ctx) => done((await ctx.tool(call, tool)).isError ? "failed" : "done"));
  const handle = runtime.run(busy, "", { runId: RUN });
  await begun.promise;
  // By somebody else: this runtime is not told.
  kept.post(RUN, { id: "1", kind: "cancel", name: "cancel", value: "enough", at: 1_001 });
  await turns(3);
  expect(handle.status).toBe("running");
  await clock.advance(20_000);
  await turns(10);
  expect(handle.status).toBe("cancelled");
});

test.each([1, 2])("R24: what unwinds a run is no outcome of its batch of %i", async (size) => {
  const begun = Promise.withResolvers<void>();
  const tool = slow(begun.resolve);
  const seen: (readonly Outcome[])[] = [];
  const calling = agent("calling", async (ctx) => {
    seen.push(await ctx.batch(Array.from({ length: size }, () => ({ kind: "tool", tool, call }) as const)));
    return done("");
  });
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const handle = runtime.run(calling, "", { runId: RUN });
  await begun.promise;
  await runtime.close();
  expect((await handle.result).status).toBe("suspended");
  expect(seen).toEqual([]);
});
