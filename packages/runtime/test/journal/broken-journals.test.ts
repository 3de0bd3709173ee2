import { describe, expect, test } from "vitest";
import { defineTool, type Journal, RunId, type Tool } from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, ask, done, FakeLedger, turns, within } from "../support/helpers.ts";
import * as z from "zod";

const model = scriptedModel(() => "ok", { record: false });

test("R24: a journal that throws something else than an error has failed for good", async () => {
  const memory = new MemoryJournal();
  const journal: Journal = Object.assign(Object.create(memory) as Journal, {
    append: (...given: Parameters<Journal["append"]>) => {
      if (given[2].every(({ key }) => !key.startsWith("llm:"))) return memory.append(...given);
      const { promise, reject } = Promise.withResolvers<void>();
      reject("full");
      return promise;
    },
  });
  const lead = agent("lead", async (ctx) => done(String((await ctx.llm(model, ask("x"))).message.content)));
  const { result } = new Runtime({ journal }).run(lead, "");
  await expect(result).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: true });
});

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

describe.each<[string, () => never]>([
  [
    "throws",
    () => {
      throw new Error("not now");
    },
  ],
  ["gives nonsense", () => ({ owner: 7, expires: "soon" }) as never],
])("R24: a journal whose holder() %s", (_, holder) => {
  test("still says that the run is locked", async () => {
    const memory = new MemoryJournal();
    const journal: Journal = { ...unwatched(memory), holder };
    memory.claim(RUN, "somebody", 60_000);
    const lead = agent("lead", async () => done("x"));
    const { result } = new Runtime({ journal }).run(lead, "", { runId: RUN });
    await expect(result).rejects.toMatchObject({ code: "JOURNAL_LOCKED", runId: RUN });
  });

  test("stops a run whose claim another process has taken", async () => {
    const clock = virtualClock({ now: 1_000 });
    const memory = new MemoryJournal({ clock });
    const isTaken = { now: false };
    const journal: Journal = {
      ...unwatched(memory),
      holder,
      claim: (...given) => (isTaken.now ? null : memory.claim(...given)),
    };
    const lead = agent("lead", async (ctx) => {
      await ctx.waitFor("never");
      return done("x");
    });
    const { result } = new Runtime({ journal, clock }).run(lead, "", { runId: RUN });
    const settled = result.then(
      ({ status }) => status,
      (error: unknown) => (error as { code: string }).code,
    );
    await turns();
    isTaken.now = true;
    await clock.advance(60_000);
    expect(await within(settled)).toBe("JOURNAL_LOCKED");
  });
});

test("R24: a run whose ledger cannot be restored listens to its journal no longer", async () => {
  let open = 0;
  class Watched extends MemoryJournal {
    override watch(...given: Parameters<MemoryJournal["watch"]>) {
      open++;
      const watch = super.watch(...given);
      const stop = (): void => {
        open--;
        watch.stop();
      };
      return Object.assign(Object.create(watch) as typeof watch, { stop });
    }
  }
  class Broken extends FakeLedger {
    override charge(): never {
      throw new Error("no books");
    }
  }
  const journal = new Watched();
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(model, ask("x"));
    return done(String(await ctx.waitFor("go")));
  });
  const first = new Runtime({ journal, ledger: () => new FakeLedger() });
  const { result } = first.run(lead, "", { runId: RUN });
  await turns();
  await first.close();
  expect([(await result).status, open]).toEqual(["suspended", 0]);
  const second = new Runtime({ journal, agents: [lead], ledger: () => new Broken() });
  await expect(second.resume(RUN).result).rejects.toThrow("no books");
  expect(open).toBe(0);
});
