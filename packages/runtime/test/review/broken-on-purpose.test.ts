import { expect, test } from "vitest";
import {
  defineTool,
  HookEvent,
  type Hooks,
  type Journal,
  type Outcome,
  RunId,
  type Tool,
} from "@ravi/kernel";
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

test("R9: the end of an agent that was given up is told once, also when it settles after all", async () => {
  const clock = virtualClock();
  const held = Promise.withResolvers<void>();
  const ends: unknown[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, payload) => {
      if (event === HookEvent.RUN_END && "status" in payload) ends.push(payload.status);
    },
    drain: () => undefined,
  };
  const stubborn = agent("stubborn", async () => {
    await held.promise;
    return done("late");
  });
  const handle = new Runtime({ clock, hooks }).run(stubborn, "");
  await turns();
  handle.cancel("enough");
  await clock.advance(1_000);
  expect((await handle.result).status).toBe("cancelled");
  held.resolve();
  await turns();
  await clock.advance(1_000);
  expect(ends).toEqual(["cancelled"]);
});

test("R24: facts of many names are recorded each under a key of its own, and are read again by it", async () => {
  const names = Array.from({ length: 40 }, (_, n) => `fact ${n}`);
  let made = 0;
  const recording = agent("recording", async (ctx) => {
    const read: unknown[] = [];
    for (const round of [1, 2, 3])
      for (const name of names) read.push(await ctx.record(name, () => `${name}, ${round}: ${++made}`));
    return done(JSON.stringify([read, await ctx.waitFor("end")]));
  });
  const journal = new MemoryJournal();
  const runtime = new Runtime({ journal, agents: [recording] });
  const handle = runtime.run(recording, "", { runId: RUN });
  while (handle.status === "pending" || handle.status === "running") await turns();
  await runtime.close();
  const keys = journal.load(RUN).flatMap(({ key }) => (key.startsWith("record:") ? [key] : []));
  expect(new Set(keys).size).toBe(3 * names.length);
  expect(keys).toContain("record:fact 39#3");
  const again = new Runtime({ journal, agents: [recording] });
  await again.deliver(RUN, "end", "over");
  const [read, end] = JSON.parse((await again.resume(RUN).result).output) as [string[], string];
  expect([made, read.length, read.at(-1), end]).toEqual([120, 120, "fact 39, 3: 120", "over"]);
});

test("R24: words of one name that come before anybody waits for them are all kept, in their order", async () => {
  const waiting = agent("waiting", async (ctx) => {
    const first = String(await ctx.waitFor("go"));
    const rest = [await ctx.waitFor("word"), await ctx.waitFor("word"), await ctx.waitFor("word")];
    return done([first, ...rest].join());
  });
  for (const journal of [undefined, new MemoryJournal()]) {
    const runtime = new Runtime({ journal });
    const handle = runtime.run(waiting, "", { runId: RUN });
    for (const word of ["a", "b", "c"]) await runtime.deliver(RUN, "word", word);
    await runtime.deliver(RUN, "go", "now");
    expect((await handle.result).output).toBe("now,a,b,c");
  }
});
