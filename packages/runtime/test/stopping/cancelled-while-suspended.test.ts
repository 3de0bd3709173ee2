import { expect, test } from "vitest";
import {
  type Inbox,
  type Journal,
  type JsonValue,
  type LLMClient,
  type RunContext,
  RunId,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, ask, cut, done, hangingPayer, turns, until } from "../support/helpers.ts";

// A run that rests is cancelled. It ends, whatever somebody would have to do before it could go on.

const helper = agent("helper", async () => done("helped"));

test("R24: nobody is asked about a tool of a run that was cancelled; its result says that it is in doubt", async () => {
  const clock = virtualClock();
  let payments = 0;
  const payer = hangingPayer(() => payments++);
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: payer, input: "" })).status));
  const journal = new MemoryJournal();
  const first = new Runtime({ journal, clock });
  const { result } = first.run(lead, "", { runId: "r" });
  await until(() => payments === 1);
  const closing = first.close();
  await clock.advance(200);
  await closing;
  expect((await result).status).toBe("suspended");

  const second = new Runtime({ journal, clock, agents: [lead] });
  await second.cancel("r", "not needed");
  expect(await second.list()).toMatchObject([{ status: "cancelled" }]);
  expect(await second.resume("r").result).toMatchObject({
    status: "cancelled",
    error: { reason: "not needed" },
    inDoubt: ["r/hire:payer#1:tool:pay#1"],
  });
  expect(payments).toBe(1);
});

test.each([
  ["another version of it is", { version: "2" }],
  ["nobody of that name is", { id: helper.id }],
])(
  "R24: nor is its agent needed for it to end: where %s registered, it ends when it is resumed",
  async (_, other) => {
    const clock = virtualClock();
    let payments = 0;
    const payer = hangingPayer(() => payments++);
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, clock });
    const { result } = first.run(payer, "", { runId: "r" });
    await until(() => payments === 1);
    const closing = first.close();
    await clock.advance(200);
    await closing;
    expect((await result).status).toBe("suspended");

    const second = new Runtime({ journal, clock, agents: [{ ...payer, ...other }] });
    await expect(second.resume("r").result).rejects.toMatchObject({ code: "AGENT_NOT_FOUND" });
    await new Runtime({ journal, clock }).cancel("r", "not needed");
    const cancelled = {
      status: "cancelled",
      error: { reason: "not needed" },
      inDoubt: ["r:tool:pay#1"],
      agents: [{ agentId: "payer" }],
    };
    expect(await second.resume("r").result).toMatchObject(cancelled);
    expect(await second.list()).toMatchObject([{ status: "cancelled", agent: "payer@1" }]);
    expect(await second.resume("r").result).toMatchObject(cancelled);
    expect(payments).toBe(1);
  },
);

test("R24: a model call that was in flight at the crash is in doubt too", async () => {
  const hanging: LLMClient = {
    id: "hanging",
    info: { provider: "p", model: "m" },
    generate: () => new Promise(() => {}),
  };
  const worker = agent("worker", async (ctx) => {
    await ctx.llm(hanging, ask("?"));
    return done("said");
  });
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: worker, input: "" })).status));
  const clock = virtualClock();
  const before = new MemoryJournal();
  new Runtime({ journal: before, clock }).run(lead, "", { runId: "r" });
  await until(() => before.load(RunId("r")).some(({ key }) => key.startsWith("llm:")));
  const journal = cut("r", before.load(RunId("r")));
  const second = new Runtime({ journal, clock, agents: [lead, worker] });
  await second.cancel("r", "not needed");
  const { inDoubt, status } = await second.resume("r").result;
  expect({ inDoubt, status }).toEqual({ status: "cancelled", inDoubt: ["r/hire:worker#1:llm:hanging#1"] });
});

test("R24: whoever knows no agent leaves the wish, and keeps nobody from resuming the run meanwhile", async () => {
  const journal = new MemoryJournal();
  const waiter = agent("waiter", async (ctx) => done(String(await ctx.waitFor("never"))));
  const first = new Runtime({ journal });
  const handle = first.run(waiter, "", { runId: "r" });
  await until(() => handle.status === "suspended");
  await first.close();
  let claims = 0;
  const claim: Journal["claim"] = (...asked) => {
    claims++;
    return journal.claim(...asked);
  };
  const outside = Object.assign(Object.create(journal) as MemoryJournal, { claim });
  await new Runtime({ journal: outside }).cancel("r", "not needed");
  expect(claims).toBe(0);
  const { result } = new Runtime({ journal, agents: [waiter] }).resume("r");
  expect(await result).toMatchObject({ status: "cancelled", error: { reason: "not needed" } });
});

test.each<[does: string, act: (ctx: RunContext, inbox: Inbox, isStopped: boolean) => Promise<unknown>]>([
  [
    "waits for a message that it did not wait for before",
    (_ctx, inbox, isStopped) => (isStopped ? inbox.receive() : inbox.take()),
  ],
  [
    "hires somebody for something else",
    (ctx, _inbox, isStopped) => ctx.hire({ agent: helper, input: String(isStopped) }),
  ],
  [
    "does something else first",
    (ctx, _inbox, isStopped) => ctx.record(isStopped ? "a" : "b", () => 1) as Promise<JsonValue>,
  ],
])("R24: an agent that %s because it was cancelled is cancelled, not suspended", async (_does, act) => {
  const journal = new MemoryJournal();
  const lead = agent("lead", async (ctx, inbox) => {
    await act(ctx, inbox, ctx.signal.aborted);
    return done(String(await ctx.waitFor("never")));
  });
  const first = new Runtime({ journal });
  const { result } = first.run(lead, "", { runId: "r" });
  await until(() => journal.list()[0]?.waitingFor !== undefined);
  await first.close();
  expect((await result).status).toBe("suspended");

  const second = new Runtime({ journal, agents: [lead] });
  await second.cancel("r", "not needed");
  expect(await second.resume("r").result).toMatchObject({
    status: "cancelled",
    error: { reason: "not needed" },
  });
});

test("R24: a run that is cancelled while it notes what has to be decided is cancelled, and not suspended", async () => {
  let payments = 0;
  const payer = hangingPayer(() => payments++);
  const before = new MemoryJournal();
  new Runtime({ journal: before }).run(payer, "", { runId: "r" });
  await until(() => payments === 1);
  const inner = cut("r", before.load(RunId("r")));
  const append: Journal["append"] = (runId, epoch, entries) => {
    if (entries.some(({ key }) => key === "run:waits")) handle.cancel("not needed");
    return inner.append(runId, epoch, entries);
  };
  const journal: Journal = Object.assign(Object.create(inner) as MemoryJournal, { append });
  const handle = new Runtime({ journal, agents: [payer] }).resume("r");
  expect(await handle.result).toMatchObject({ status: "cancelled", inDoubt: ["r:tool:pay#1"] });
  expect(payments).toBe(1);
});

test.each([
  ["is being suspended", false],
  ["was resumed and is suspended before it begins", true],
])(
  "R24: a wish to cancel a run that %s is confirmed when it is on record, and then holds",
  async (_, isResumed) => {
    const inner = new MemoryJournal();
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const post: Journal["post"] = async (runId, item) => {
      asked.resolve();
      await answered.promise;
      inner.post(runId, item);
    };
    const journal: Journal = Object.assign(Object.create(inner) as MemoryJournal, { post });
    const waiter = agent("waiter", async (ctx) => done(String(await ctx.waitFor("word"))));
    let runtime = new Runtime({ journal });
    let { result } = runtime.run(waiter, "", { runId: "r" });
    await until(() => inner.list()[0]?.waitingFor !== undefined);
    if (isResumed) {
      await runtime.close();
      runtime = new Runtime({ journal, agents: [waiter] });
      ({ result } = runtime.resume("r"));
    }
    const closing = runtime.close();
    let isConfirmed = false;
    const cancelling = runtime.cancel("r", "not needed").then(() => (isConfirmed = true));
    await asked.promise;
    expect((await result).status).toBe("suspended");
    await closing;
    await turns();
    expect(isConfirmed).toBe(false);
    answered.resolve();
    await cancelling;
    const resumed = new Runtime({ journal, agents: [waiter] }).resume("r");
    expect(await resumed.result).toMatchObject({ status: "cancelled", error: { reason: "not needed" } });
  },
);

test("R24: a run that is cancelled while it records that it is suspended ends at once", async () => {
  let payments = 0;
  const payer = hangingPayer(() => payments++);
  const before = new MemoryJournal();
  new Runtime({ journal: before }).run(payer, "", { runId: "r" });
  await until(() => payments === 1);
  const inner = cut("r", before.load(RunId("r")));
  let cancelling: Promise<void> | undefined;
  const append: Journal["append"] = async (runId, epoch, entries) => {
    inner.append(runId, epoch, entries);
    if (!entries.some(({ body }) => body["status"] === "suspended")) return;
    cancelling ??= runtime.cancel("r", "not needed");
    await turns();
  };
  const journal: Journal = Object.assign(Object.create(inner) as MemoryJournal, { append });
  const runtime = new Runtime({ journal, agents: [payer] });
  expect((await runtime.resume("r").result).status).toBe("suspended");
  await cancelling;
  expect(inner.list()).toMatchObject([{ status: "cancelled" }]);
});

test("R24: a run is not resumed while it cannot be read whether it was cancelled", async () => {
  const model = scriptedModel(() => "ok");
  const lead = agent("lead", async (ctx) => {
    await ctx.waitFor("go");
    await ctx.llm(model, ask("?"));
    return done(String(await ctx.waitFor("more")));
  });
  const memory = new MemoryJournal();
  const first = new Runtime({ journal: memory });
  const { result } = first.run(lead, "", { runId: "r" });
  await turns();
  await first.close();
  expect((await result).status).toBe("suspended");
  await first.deliver("r", "go", true);

  const disk = { isBroken: true };
  const items: Journal["items"] = (...asked) => {
    if (disk.isBroken) throw new Error("EIO");
    return memory.items(...asked);
  };
  const journal: Journal = Object.assign(Object.create(memory) as Journal, { items });
  const second = new Runtime({ journal, agents: [lead] });
  await expect(second.cancel("r", "not needed")).rejects.toThrow("EIO");
  await expect(second.resume("r").result).rejects.toThrow("EIO");
  expect(model.calls).toHaveLength(0);
  disk.isBroken = false;
  expect(await second.resume("r").result).toMatchObject({
    status: "cancelled",
    error: { reason: "not needed" },
  });
  expect(model.calls).toHaveLength(0);
});
