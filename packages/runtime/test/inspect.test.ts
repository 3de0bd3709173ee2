import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  addUsage,
  type ChatContext,
  defineTool,
  type Journal,
  type LLMClient,
  type Meter,
  NO_USAGE,
  type Pipeline,
  ProviderError,
  RunId,
  type RunSummary,
  textOf,
  ToolError,
  totalTokens,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RunReport, type RuntimePorts, SqliteJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { processOwner } from "../src/journal/parts/owner.ts";
import { temporaryDirectory } from "./journal/helpers/directory.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, hangingPayer, until } from "./support/helpers.ts";
import { team } from "./team.ts";

const inspect = (journal: Journal, runId = "r"): Promise<RunReport> =>
  new Runtime({ journal }).inspect(runId);

function sqlite(): SqliteJournal {
  const journal = SqliteJournal.open(temporaryDirectory());
  onTestFinished(() => journal.close());
  return journal;
}

describe.each<[string, () => Journal]>([
  ["in memory", () => new MemoryJournal()],
  ["in SQLite", sqlite],
])("inspect, with a journal %s,", (_, open) => {
  test("tells of a run that is over what its result tells, without its agents", async () => {
    const journal = open();
    const { lead, worker } = team();
    const runtime = new Runtime({ journal, agents: [worker], ledger: () => new FakeLedger() });
    const result = await runtime.run(lead, "2 3", { runId: "r", executionBudget: { maxTurns: 9 } }).result;

    const report = await inspect(journal);
    expect(report).toMatchObject({ runId: "r", agent: "lead@1", status: "completed", input: "2 3" });
    expect(report.result).toMatchObject({ output: result.output, stopReason: "done" });
    const { usage, cost, agents, inDoubt } = result;
    expect(report).toMatchObject({ usage, cost, agents, inDoubt });
    expect(report.limits.executionBudget?.maxTurns).toBe(9);
    expect(report.heldBy).toBeUndefined();
    expect(report.calls.map(({ kind, name, status }) => `${kind} ${name} ${status}`).toSorted()).toEqual([
      ...Array(4).fill("llm scripted:scripted ok"),
      ...Array(2).fill("tool square ok"),
    ]);
  });

  test("tells what a run waits for, and why it is suspended", async () => {
    const journal = open();
    const asker = agent("asker", async (ctx) => done(String(await ctx.waitFor("name"))));
    const runtime = new Runtime({ journal });
    const handle = runtime.run(asker, "who?", { runId: "r" });
    await until(() => handle.status === "suspended");
    await runtime.close();
    await handle.result;

    const report = await inspect(journal);
    expect(report).toMatchObject({ status: "suspended", error: { code: "SUSPENDED" } });
    expect(report.waitingFor).toMatchObject([{ kind: "signal", name: "name", agentId: "asker" }]);
    expect(report.agents).toMatchObject([{ agentId: "asker", status: "suspended" }]);
    expect(report.result).toBeUndefined();
  });

  test("and the list tell that a run at rest was cancelled, also if the journal's own list does not, until it has ended", async () => {
    const kept = open();
    const asker = agent("asker", async (ctx) => done(String(await ctx.waitFor("name"))));
    const runtime = new Runtime({ journal: kept });
    const handle = runtime.run(asker, "who?", { runId: "r" });
    await until(() => handle.status === "suspended");
    await runtime.close();
    await handle.result;
    await new Runtime({ journal: kept }).cancel("r", "nobody knows");

    const cancelled = { status: "suspended", cancelReason: "nobody knows", error: { code: "SUSPENDED" } };
    expect(await new Runtime({ journal: kept }).list()).toMatchObject([cancelled]);
    for (const journal of [kept, withoutReasons(kept)]) {
      const report = await inspect(journal);
      expect(report).toMatchObject(cancelled);
      expect(report.waitingFor).toBeUndefined();
    }
    await new Runtime({ journal: kept, agents: [asker] }).resume("r").result;
    for (const journal of [kept, withoutReasons(kept)]) {
      const report = await inspect(journal);
      expect(report).toMatchObject({ status: "cancelled", error: { code: "CANCELLED" } });
      expect(report.cancelReason).toBeUndefined();
    }
  });

  test("and the list tell why a run has failed", async () => {
    const journal = open();
    const failing = agent("failing", async () => {
      throw new ToolError({ toolName: "ledger", message: "the ledger is locked" });
    });
    const { status, error } = await new Runtime({ journal }).run(failing, "", { runId: "r" }).result;
    expect(status).toBe("failed");
    const told = { status, error: { code: error?.code, message: error?.message } };
    expect(told.error.message).toContain("the ledger is locked");
    expect(await journal.list()).toMatchObject([told]);
    expect(await inspect(journal)).toMatchObject(told);
    expect(await inspect(withoutReasons(journal))).toMatchObject(told);
  });
});

test("inspect shows a run also if something that was posted to it is damaged", async () => {
  const directory = temporaryDirectory();
  const journal = SqliteJournal.open(directory);
  onTestFinished(() => journal.close());
  const asker = agent("asker", async (ctx) => done(String(await ctx.waitFor("name"))));
  const runtime = new Runtime({ journal });
  const handle = runtime.run(asker, "who?", { runId: "r" });
  await until(() => handle.status === "suspended");
  await runtime.close();
  await handle.result;
  await new Runtime({ journal }).send("r", "hurry");
  using db = new DatabaseSync(join(directory, "ravi.db"));
  db.exec("UPDATE items SET crc = crc + 1");
  expect(() => journal.items(RunId("r"), 0)).toThrow("a posted item");
  expect(await inspect(journal)).toMatchObject({ status: "suspended", input: "who?" });
});

/** The same runs in a journal that tells less of them. */
function withoutReasons(journal: Journal): Journal {
  const list = async (): Promise<readonly RunSummary[]> =>
    (await journal.list()).map((run) => ({ ...run, error: undefined, cancelReason: undefined }));
  return Object.assign(Object.create(journal) as Journal, { list, summary: undefined });
}

test("inspect reads a killed run after each of its entries: who has ended, and what was spent or set aside", async () => {
  const journal = new MemoryJournal();
  const { lead } = team();
  const result = await new Runtime({ journal, ledger: () => new FakeLedger() }).run(lead, "2 3", {
    runId: "r",
  }).result;
  const records = journal.load(RunId("r"));
  expect(records.at(-1)?.key).toBe("run:status");

  for (let entries = 1; entries < records.length; entries++) {
    const known = records.slice(0, entries);
    const report = await inspect(cut("r", known));
    const keys = (phase: string, kind: string): number =>
      known.filter((each) => each.phase === phase && each.key.startsWith(kind)).length;
    const ended = report.calls.filter(({ status }) => status === "ok");
    expect(report.status).toBe("running");
    expect(report.calls).toHaveLength(keys("begin", "llm:") + keys("begin", "tool:"));
    expect(ended).toHaveLength(keys("end", "llm:") + keys("end", "tool:"));
    expect(report.agents).toHaveLength(1 + keys("begin", "hire:"));
    expect(report.agents.filter(({ status }) => status === "completed")).toHaveLength(keys("end", "hire:"));
    expect(report.agents.filter(({ status }) => status === "running")).toHaveLength(
      report.agents.length - keys("end", "hire:"),
    );
    const spent = ended.reduce((sum, { usage = NO_USAGE }) => addUsage(sum, usage), NO_USAGE);
    const isOpen = keys("begin", "llm:") > keys("end", "llm:");
    // What is set aside for a call under way counts until its end is known.
    if (isOpen) expect(totalTokens(report.usage)).toBeGreaterThan(totalTokens(spent));
    else expect(report.usage).toEqual(spent);
  }
  const last = await inspect(cut("r", records.slice(0, -1)));
  expect(last.usage).toEqual(result.usage);
  expect(last.agents.slice(1)).toEqual(result.agents?.slice(1));
});

test("inspect tells which process has a run, and which of its calls are under way", async () => {
  const folder = temporaryDirectory();
  const own = SqliteJournal.open(folder);
  const other = SqliteJournal.open(folder);
  onTestFinished(async () => {
    await own.close();
    await other.close();
  });
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  const model = scriptedModel(async () => {
    asked.resolve();
    return answer.promise;
  });
  const runtime = new Runtime({ journal: own });
  const { result } = runtime.run(
    agent("asker", async (ctx) => {
      await ctx.llm(model, ask("?"));
      return done("so be it");
    }),
    "go",
    { runId: "r" },
  );
  await asked.promise;
  const during = await inspect(other);
  expect(during).toMatchObject({ status: "running", heldBy: { pid: process.pid } });
  expect(during.heldBy?.expiresAt).toBeGreaterThan(Date.now());
  expect(during.calls).toMatchObject([{ kind: "llm", status: "open", name: "scripted:scripted" }]);
  expect(during.calls[0]).not.toHaveProperty("endedAt");

  answer.resolve("yes");
  await result;
  const after = await inspect(other);
  expect(after.heldBy).toBeUndefined();
  expect(after.calls).toMatchObject([{ status: "ok", usage: { outputTokens: 1 } }]);
});

test.each(["an agent", "a tool"])(
  "inspect calls what is set aside for a call of %s wasted only if no process makes it any more",
  async (who) => {
    const journal = new MemoryJournal();
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<string>();
    const model = scriptedModel(async () => {
      asked.resolve();
      return answer.promise;
    });
    const oracle = defineTool({
      name: "oracle",
      description: "",
      input: z.object({}),
      execute: async (_, { llm }) => textOf((await llm(model, ask("?"))).message),
    });
    const asker = agent("asker", async (ctx) => {
      if (who === "a tool") await ctx.tool({ id: "1", name: "oracle", arguments: "{}" }, oracle);
      else await ctx.llm(model, ask("?"));
      return done("so be it");
    });
    const meter: Meter = {
      estimate: () => ({ inputTokens: 1, maxOutputTokens: 1, price: { usd: 0.5 } }),
      price: () => ({ usd: 0.25 }),
    };
    const { result } = new Runtime({ journal, meter, ledger: () => new FakeLedger() }).run(asker, "go", {
      runId: "r",
    });
    await asked.promise;
    const [during] = (await inspect(journal)).agents;
    expect(during).toMatchObject({ status: "running", costUsd: 0.5, wasteUsd: 0 });
    const [killed] = (await inspect(cut("r", journal.load(RunId("r"))))).agents;
    expect(killed).toMatchObject({ status: "running", costUsd: 0.5, wasteUsd: 0.5 });
    answer.resolve("yes");
    expect((await result).agents).toMatchObject([{ costUsd: 0.25, wasteUsd: 0 }]);
  },
);

test("inspect tells which calls may have been made twice, and counts a tool that failed as an error", async () => {
  const journal = new MemoryJournal();
  let paid = 0;
  const clumsy = defineTool({
    name: "clumsy",
    description: "",
    input: z.object({}),
    execute: () => {
      throw new Error("oh");
    },
  });
  const payer = hangingPayer(() => paid++);
  const lead = agent("payer", async (ctx, inbox) => {
    await ctx.tool({ id: "0", name: "clumsy", arguments: "{}" }, clumsy);
    return payer.run(ctx, inbox);
  });
  const first = new Runtime({ journal });
  void first.run(lead, "go", { runId: "r" });
  await until(() => paid === 1);
  onTestFinished(() => first.close());

  const crashed = cut("r", journal.load(RunId("r")));
  expect((await inspect(crashed)).calls.map(({ name, status }) => `${name} ${status}`)).toEqual([
    "clumsy error",
    "pay open",
  ]);
  const again = new Runtime({ journal: crashed, agents: [lead] });
  onTestFinished(() => again.close());
  const [doubt = ""] = (await again.resume("r").result.then(() => inspect(crashed))).calls
    .filter(({ status }) => status === "open")
    .map(({ execId, key }) => `${execId}:${key}`);
  void again.resume("r", { decisions: { [doubt]: "retry" } });
  await until(() => paid === 2);
  const report = await inspect(crashed);
  expect(report.inDoubt).toEqual([doubt]);
  expect(report.calls).toHaveLength(2);
});

test("T2: a call that a tool makes is in doubt once nobody has the run, and not while it is under way", async () => {
  const journal = new MemoryJournal();
  const asked = Promise.withResolvers<void>();
  const hanging: LLMClient = {
    id: "m",
    info: { provider: "p", model: "m" },
    generate: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  };
  const think = defineTool({
    name: "think",
    description: "",
    input: z.object({}),
    execute: (_, { llm }) => llm(hanging, ask("?")),
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.tool({ id: "0", name: "think", arguments: "{}" }, think);
    return done("");
  });
  const runtime = new Runtime({ journal, ledger: () => new FakeLedger() });
  onTestFinished(() => runtime.close({ graceMs: 0 }));
  void runtime.run(lead, "go", { runId: "r" });
  await asked.promise;

  expect((await inspect(journal)).inDoubt).toEqual([]);
  expect((await inspect(cut("r", journal.load(RunId("r"))))).inDoubt).toEqual(["r:tool:think#1"]);
});

test("inspect says of a run that was claimed and has not begun who has it, or that nobody has", async () => {
  const journal = sqlite();
  const { epoch = 0 } = (await journal.claim(RunId("r"), "the night shift", 60_000)) ?? {};
  await expect(inspect(journal)).rejects.toThrow(
    'runId is "r"; expected a run that has begun: the night shift has claimed this one, and its start is not on record yet',
  );
  await journal.release(RunId("r"), epoch);
  await expect(inspect(journal)).rejects.toThrow(
    'runId is "r"; expected a run that has begun: this one was claimed, and its process ended before its start was on record, so nothing was done; run it again with the same runId',
  );
});

test.each(["over", "open"])(
  "inspect shows only limits that something keeps, of a run that is %s",
  async (state) => {
    const inspected = async (ports: RuntimePorts): Promise<RunReport["limits"]> => {
      const journal = new MemoryJournal();
      const asker = agent("asker", async (ctx) => done(String(await ctx.waitFor("name"))));
      const runtime = new Runtime({ ...ports, journal });
      const handle = runtime.run(asker, "who?", { runId: "r" });
      await until(() => handle.status === "suspended");
      if (state === "over") await runtime.deliver("r", "name", "Bo");
      else await runtime.close();
      await handle.result;
      const { limits, result } = await inspect(journal);
      expect(result === undefined).toBe(state === "open");
      return limits;
    };
    const headcount = (): FakeHeadcount => new FakeHeadcount(2);
    const ledger = (): FakeLedger => new FakeLedger();
    expect(await inspected({})).toEqual({ spawnBudget: null, executionBudget: null });
    expect((await inspected({ headcount })).spawnBudget).toMatchObject({ maxAgents: 50 });
    expect((await inspected({ headcount })).executionBudget).toBeNull();
    expect((await inspected({ ledger })).spawnBudget).toBeNull();
    expect((await inspected({ ledger })).executionBudget).not.toBeNull();
  },
);

test("inspect tells of each call when it was made, what it cost, which model answered, and whether it failed", async () => {
  const clock = virtualClock({ now: 1_000 });
  const journal = new MemoryJournal({ clock });
  const price = { usd: 0.25 };
  const meter: Meter = {
    estimate: () => ({ inputTokens: 1, maxOutputTokens: 1, price }),
    price: () => price,
  };
  const answering = (model: string): LLMClient => ({
    id: `scripted/${model}`,
    info: { provider: "scripted", model },
    generate: async ({ messages: [question] }) => {
      await clock.advance(10);
      if (question?.content === "fail") throw new ProviderError({ kind: "AUTH", message: "no key" });
      const message = { role: "assistant", content: "yes" } as const;
      return { message, finishReason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
    },
  });
  const [main, spare] = [answering("main"), answering("spare")];
  const look = defineTool({
    name: "look",
    description: "",
    input: z.object({}),
    execute: async () => {
      await clock.advance(40);
      return "seen";
    },
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(main, ask("own"));
    await ctx.llm(main, ask("spare"));
    await ctx.llm(main, ask("fail")).catch(() => {});
    await ctx.tool({ id: "1", name: "look", arguments: "{}" }, look);
    return done("ok");
  });
  const chat: Pipeline<ChatContext> = {
    isNoop: false,
    admit() {},
    run(context, core) {
      if (context.request.messages.at(-1)?.content === "spare") context.model = spare;
      return core();
    },
  };
  const runtime = new Runtime({ journal, clock, meter, ledger: () => new FakeLedger(), pipelines: { chat } });
  expect(await runtime.run(lead, "go", { runId: "r" }).result).toMatchObject({ status: "completed" });

  const { calls } = await inspect(journal);
  expect(
    calls.map(({ name, status, startedAt, endedAt, costUsd }) => [name, status, startedAt, endedAt, costUsd]),
  ).toEqual([
    ["scripted:main", "ok", 1_000, 1_010, 0.25],
    ["scripted:spare", "ok", 1_010, 1_020, 0.25],
    ["scripted:main", "error", 1_020, 1_030, 0],
    ["look", "ok", 1_030, 1_070, undefined],
  ]);
});

test("inspect shows how many agents a run may hire", async () => {
  const journal = new MemoryJournal();
  const { lead } = team();
  const spawnBudget = { maxTotal: 7 };
  const runtime = new Runtime({ journal, headcount: () => new FakeHeadcount() });
  await runtime.run(lead, "2", { runId: "r", spawnBudget }).result;
  expect((await inspect(journal)).limits.spawnBudget?.maxTotal).toBe(7);
});

test("inspect shows the limits with what was granted beyond them", async () => {
  const journal = new MemoryJournal();
  const { lead } = team();
  await new Runtime({ journal, ledger: () => new FakeLedger() }).run(lead, "2", {
    runId: "r",
    executionBudget: { maxTokens: 1_000 },
  }).result;
  const records = journal.load(RunId("r"));
  const [first] = records;
  if (first === undefined) throw new Error("nothing was recorded");
  const raise = { ...first, key: "raise:1", body: { value: { tokens: 500 } } };
  const report = await inspect(cut("r", [first, raise]));
  expect(report.limits.executionBudget?.maxTokens).toBe(1_500);
});

test("inspect tells of one moment, whatever is recorded while it reads", async () => {
  const memory = new MemoryJournal();
  const { lead } = team();
  await new Runtime({ journal: memory }).run(lead, "2", { runId: "r" }).result;
  const begun = cut("r", memory.load(RunId("r")).slice(0, 4));
  const other = { owner: "another process", expires: Infinity };
  let isOver = false;
  // It ends, and its process lets go of it, after the summary was read.
  const journal: Journal = Object.create(memory, {
    summary: {
      value: async (runId: RunId) => {
        isOver = true;
        return begun.summary(runId);
      },
    },
    holder: { value: async () => (isOver ? undefined : other) },
  }) as Journal;
  const report = await inspect(journal);
  expect(report).toEqual({
    ...(await inspect(begun)),
    heldBy: expect.objectContaining({ owner: other.owner }),
  });
  expect(report).toMatchObject({ status: "running", entries: 4 });
  expect(report).not.toHaveProperty("result");
});

test("inspect does not take a run that is resumed while it reads for one whose process was killed", async () => {
  const memory = new MemoryJournal();
  const { lead } = team();
  await new Runtime({ journal: memory }).run(lead, "2", { runId: "r" }).result;
  const begun = cut("r", memory.load(RunId("r")).slice(0, 4));
  // The cut has let go of it. Another process claims it before the summary is read.
  const journal: Journal = Object.create(begun, {
    summary: {
      value: async (runId: RunId) => {
        begun.claim(runId, "another process", 1_000_000);
        return begun.summary(runId);
      },
    },
  }) as Journal;
  expect((await inspect(begun)).heldBy).toBeUndefined();
  const report = await inspect(journal);
  expect(report).toMatchObject({ status: "running", heldBy: { owner: "another process" } });
});

test("inspect knows that a process that has died has the run no more, though its claim has not lapsed", async () => {
  const memory = new MemoryJournal();
  const { lead } = team();
  await new Runtime({ journal: memory }).run(lead, "2", { runId: "r" }).result;
  const begun = cut("r", memory.load(RunId("r")).slice(0, 4));
  const { pid } = spawnSync(process.execPath, ["--version"]);
  const claimed = (owner: string): Journal =>
    Object.create(begun, { holder: { value: () => ({ owner, expires: Infinity }) } }) as Journal;
  const living = processOwner("1");
  expect((await inspect(claimed(living))).heldBy).toMatchObject({ pid: process.pid, host: hostname() });
  const dead = living.replace(`:${process.pid}:`, `:${pid}:`);
  expect((await inspect(claimed(dead))).heldBy).toBeUndefined();
});

test("holder names the process that has a run, also of one that cannot be read", async () => {
  const memory = new MemoryJournal();
  const runtime = new Runtime({
    journal: Object.create(memory, {
      load: {
        value: () => {
          throw new Error("damaged");
        },
      },
    }) as Journal,
  });
  memory.claim(RunId("r"), "another process", 1_000_000);
  expect(await runtime.holder("r")).toMatchObject({ owner: "another process" });
  expect(await runtime.holder("nobody")).toBeUndefined();
  await expect(new Runtime().holder("r")).rejects.toMatchObject({ field: "journal" });
});

test("inspect works with a journal that has neither summaries nor holders", async () => {
  const memory = new MemoryJournal();
  const plain: Journal = Object.create(memory, {
    summary: { value: undefined },
    holder: { value: undefined },
  }) as Journal;
  const { lead } = team();
  await new Runtime({ journal: memory }).run(lead, "2", { runId: "r" }).result;
  const report = await inspect(plain);
  expect(report).toMatchObject({ status: "completed", agents: [{}, {}] });
});

test("inspect refuses a run that is not on record, and a runtime without a journal", async () => {
  await expect(inspect(new MemoryJournal(), "nobody")).rejects.toMatchObject({
    code: "INVALID_VALUE",
    field: "runId",
    message: expect.stringContaining('"nobody"'),
  });
  await expect(new Runtime().inspect("r")).rejects.toMatchObject({ code: "INVALID_VALUE", field: "journal" });
});

test("inspect refuses a run that a process has claimed and not begun", async () => {
  const journal = new MemoryJournal();
  journal.claim(RunId("r"), "another process", 1_000_000);
  await expect(inspect(journal)).rejects.toMatchObject({ code: "INVALID_VALUE", field: "runId" });
});
