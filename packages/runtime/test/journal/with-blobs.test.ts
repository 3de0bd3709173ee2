import { describe, expect, test } from "vitest";
import { type BlobStore, ExecId, type JournalEntry, type JsonObject, RunId } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { withBlobs } from "../../src/journal/entries/with-blobs.ts";
import { agent, done as completed, turns } from "../support/helpers.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";

const RUN = RunId("r");
const entry = (key: string, text: string): JournalEntry => ({
  exec: ExecId(RUN),
  key,
  attempt: 1,
  phase: "note",
  at: 0,
  body: { text },
});
const LARGE = "x".repeat(300_000);

/** A store whose puts come to their end when they are told to. */
function slowStore() {
  const kept = new Map<string, Uint8Array>();
  const done = Promise.withResolvers<void>();
  const blobs: BlobStore = {
    async put(bytes) {
      await done.promise;
      const ref = `blob-${kept.size}`;
      kept.set(ref, bytes);
      return ref;
    },
    get: (ref) => kept.get(ref) ?? new Uint8Array(),
  };
  return { blobs, done };
}

/** A journal that is read while the second of its entries waits for its blob. */
async function readWhileItWaits() {
  const { blobs, done } = slowStore();
  const journal = withBlobs(new MemoryJournal(), blobs);
  const epoch = (await journal.claim(RUN, "o", 1_000))?.epoch ?? 0;
  await journal.append(RUN, epoch, [entry("a", "small")]);
  const append = journal.append(RUN, epoch, [entry("b", LARGE)]);
  return { append, read: journal.load(RUN), done };
}

describe("a journal with its large bodies beside it", () => {
  test("R24: what is appended after a large entry stands after it, and others do not wait for it", async () => {
    const { blobs, done } = slowStore();
    const journal = withBlobs(new MemoryJournal(), blobs);
    const epoch = (await journal.claim(RUN, "o", 1_000))?.epoch ?? 0;
    const other = RunId("other");
    const others = (await journal.claim(other, "o", 1_000))?.epoch ?? 0;
    const large = journal.append(RUN, epoch, [entry("a", LARGE)]);
    const small = journal.append(RUN, epoch, [entry("b", "small")]);
    await journal.append(other, others, [{ ...entry("c", "small"), exec: ExecId(other) }]);
    done.resolve();
    await Promise.all([large, small]);
    await journal.append(RUN, epoch, [entry("d", "small")]);
    expect((await journal.load(RUN)).map(({ key }) => key)).toEqual(["a", "b", "d"]);
  });

  test("R24: a run whose result or waits are large is listed as any other", async () => {
    const { blobs, done } = slowStore();
    done.resolve();
    const journal = withBlobs(new MemoryJournal(), blobs);
    const epoch = (await journal.claim(RUN, "o", 1_000))?.epoch ?? 0;
    const waits = [{ kind: "signal", name: LARGE, execId: RUN }];
    const noted = { waits, keys: ["wait#1"], over: [], heard: 0 };
    const say = async (key: string, body: JsonObject) =>
      journal.append(RUN, epoch, [{ ...entry(key, ""), body }]);
    await say("run:start", { agent: "lead@1", input: LARGE });
    await say("run:waits", noted);
    expect(await journal.list()).toMatchObject([{ agent: "lead@1", status: "running", waitingFor: waits }]);
    await say("run:status", { status: "completed", output: LARGE });
    expect(await journal.list()).toMatchObject([{ agent: "lead@1", status: "completed" }]);
    const error = { code: "PROVIDER_ERROR", message: LARGE };
    await say("run:status#2", { status: "failed", error });
    const listed = { code: "PROVIDER_ERROR", message: `${"x".repeat(1_000)}…` };
    expect(await journal.list()).toMatchObject([{ status: "failed", error: listed }]);
    const bodies = (await journal.load(RUN)).map(({ body }) => body);
    expect(bodies).toEqual([
      { agent: "lead@1", input: LARGE },
      noted,
      { status: "completed", output: LARGE },
      { status: "failed", error },
    ]);
  });

  test("R24: where its blob cannot be kept, nothing stands in the place of what came before", async () => {
    const { blobs, done } = slowStore();
    const journal = withBlobs(new MemoryJournal(), blobs);
    const epoch = (await journal.claim(RUN, "o", 1_000))?.epoch ?? 0;
    const appends = [entry("a", LARGE), entry("b", "small")].map(async (each) =>
      journal.append(RUN, epoch, [each]),
    );
    done.reject(new Error("the bucket is gone"));
    for (const append of appends) await expect(append).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    expect(await journal.load(RUN)).toEqual([]);
  });

  test("R24: what is read has in it what was appended before, also while that waits for its blob", async () => {
    const { append, read, done } = await readWhileItWaits();
    done.resolve();
    expect((await read).map(({ key, body }) => [key, body["text"]])).toEqual([
      ["a", "small"],
      ["b", LARGE],
    ]);
    await append;
  });

  test("R24: what is read after an append that failed is what stands before it", async () => {
    const { append, read, done } = await readWhileItWaits();
    done.reject(new Error("the bucket is gone"));
    expect((await read).map(({ key }) => key)).toEqual(["a"]);
    await expect(append).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  });
});

describe("a run whose large bodies are in a blob store", () => {
  const large = agent("large", async (ctx) => {
    const { length } = String(await ctx.record("page", () => LARGE));
    await ctx.waitFor("go");
    return completed(String(length).repeat(100_000));
  });

  test("R24: is neither resumed nor shown without the store, and stays as it is", async () => {
    const [journal, blobs] = [new MemoryJournal(), new MemoryBlobs()];
    const runtime = new Runtime({ journal, blobs });
    runtime.run(large, "", { runId: RUN });
    await turns();
    await runtime.close();
    await runtime.deliver(RUN, "go", true);
    const before = journal.list();
    const without = new Runtime({ journal, agents: [large] });
    const why = /runtime options\.blobs is .*; expected the blob store that run r was recorded with/;
    const refused = async (): Promise<void> => {
      await expect(without.resume(RUN).result).rejects.toThrow(why);
      await expect(without.inspect(RUN)).rejects.toThrow(why);
      await expect(without.recordedEvents(RUN)).rejects.toThrow(why);
    };
    await refused();
    expect(journal.list()).toEqual(before);
    const again = new Runtime({ journal, blobs, agents: [large] });
    const output = "300000".repeat(100_000);
    expect(await again.resume(RUN).result).toMatchObject({ status: "completed", output });
    // Its result is there too.
    await refused();
  });

  test("R24: can be cancelled without the store, and ends when it is resumed with it", async () => {
    const [journal, blobs] = [new MemoryJournal(), new MemoryBlobs()];
    const runtime = new Runtime({ journal, blobs });
    runtime.run(large, "", { runId: RUN });
    await turns();
    await runtime.close();
    await new Runtime({ journal, agents: [large] }).cancel(RUN, "enough");
    expect(journal.list()).toMatchObject([{ status: "suspended", cancelReason: "enough" }]);
    const again = new Runtime({ journal, blobs, agents: [large] });
    expect(await again.resume(RUN).result).toMatchObject({ status: "cancelled" });
  });
});
