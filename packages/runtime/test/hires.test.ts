import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  BudgetExhaustedError,
  type Headcount,
  type Hooks,
  InvalidValueError,
  type Lease,
  type Permissions,
  type RunHandle,
  RunId,
  type StandardSchema,
} from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, cut, done, FakeHeadcount, FakeLedger, until } from "./support/helpers.ts";
import { thenable } from "./support/open-house.ts";

test("R15: a hire that was begun before a crash and is not permitted leaves no seat taken", async () => {
  const journal = new MemoryJournal();
  const child = agent("child", async () => done("hired"));
  const other = agent("other", async () => done("hired too"));
  const lead = agent("lead", async (ctx) => {
    const one = await ctx.hire({ agent: child, input: "" });
    const two = await ctx.hire({ agent: other, input: "" });
    return done(`${one.status} ${two.status}`);
  });
  const permissions: Permissions = {
    isNoop: false,
    check: ({ target }) => (target.startsWith("child") ? { allow: false, reason: "no" } : { allow: true }),
  };
  const headcount = () => new FakeHeadcount(1);
  const whole = await new Runtime({ journal, permissions, headcount }).run(lead, "", { runId: "h" }).result;
  expect(whole.output).toBe("denied completed");
  const records = journal.load(RunId("h"));
  const begun = records.findIndex(({ phase }) => phase === "begin") + 1;
  const again = new Runtime({
    journal: cut("h", records.slice(0, begun)),
    permissions,
    headcount,
    agents: [lead],
  });
  expect((await again.resume("h").result).output).toBe("denied completed");
});

test.each([
  ["throws", () => fail()],
  ["rejects", async () => fail()],
])(
  "R15: a headcount that %s when a resumed child gives its seat back does not fail the hire, and it is logged",
  async (_how, release) => {
    const journal = new MemoryJournal();
    const child = agent("child", async () => done("hired"));
    const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: child, input: "" })).status));
    await new Runtime({ journal, headcount: () => new FakeHeadcount(1) }).run(lead, "", { runId: "h" })
      .result;
    const records = journal.load(RunId("h"));
    const begun = records.findIndex(({ phase }) => phase === "begin") + 1;
    const said: unknown[] = [];
    const quiet = (): void => {};
    const error = (...words: unknown[]): void => void said.push(words);
    const again = new Runtime({
      journal: cut("h", records.slice(0, begun)),
      headcount: () => Object.assign(new FakeHeadcount(1), { release }),
      agents: [lead],
      logger: { debug: quiet, info: quiet, warn: quiet, error },
    });
    expect((await again.resume("h").result).output).toBe("completed");
    const what = expect.stringContaining("could not release the seat of child");
    expect(said).toEqual([[what, { runId: "h", error: "no line to the headcount" }]]);
  },
);

/** Leases that cannot be given back. */
class StuckHeadcount extends FakeHeadcount {
  constructor(release: Lease["release"]) {
    super();
    this.acquire = (agentId: AgentId) =>
      Promise.resolve<Lease>({ agentId, release, [Symbol.dispose]: release });
  }
}

const STUCK: readonly (readonly [string, () => unknown])[] = [
  ["throws", () => fail()],
  ["rejects", async () => fail()],
  ["rejects by a thenable", () => thenable(Promise.reject(new Error("no line to the headcount")))],
];
const stuck = STUCK.flatMap(([how, release]) =>
  (["without a journal", "with a journal"] as const).map((where) => [how, where, release] as const),
);

describe.each(stuck)("R15: a lease whose release %s, %s", (_how, where, release) => {
  const errors = () => {
    const said: unknown[] = [];
    const quiet = (): void => {};
    const error = (...words: unknown[]): void => void said.push(words);
    return { said, logger: { debug: quiet, info: quiet, warn: quiet, error } };
  };
  const told = [
    expect.stringContaining("could not release the seat of child"),
    { runId: "h", error: "no line to the headcount" },
  ];
  const journal = () => (where === "with a journal" ? new MemoryJournal() : undefined);
  const headcount = () => new StuckHeadcount(release);

  test("R15: it does not fail the hire: what the child has done is kept, and the failure is logged", async () => {
    const { said, logger } = errors();
    const child = agent("child", async () => done("hired"));
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "" });
      return done("result" in outcome ? outcome.result.output : outcome.status);
    });
    const runtime = new Runtime({ journal: journal(), headcount, logger });
    expect(await runtime.run(lead, "", { runId: "h" }).result).toMatchObject({
      status: "completed",
      output: "hired",
    });
    expect(said).toEqual([told]);
  });

  test("R15: what a child has failed with, or was not started for, is told, and not that", async () => {
    const { said, logger } = errors();
    const broken = new BudgetExhaustedError({ dimension: "tokens", used: 1, limit: 1, scope: "fake" });
    const ledger = () =>
      Object.assign(new FakeLedger(), {
        child: () => {
          throw broken;
        },
      });
    const child = agent("child", async () => done("hired"));
    const lead = agent("lead", async (ctx) => {
      const outcome = await ctx.hire({ agent: child, input: "" });
      return done("error" in outcome ? outcome.error.message : outcome.status);
    });
    const runtime = new Runtime({ journal: journal(), headcount, ledger, logger });
    expect((await runtime.run(lead, "", { runId: "h" }).result).output).toBe(broken.message);
    expect(said).toEqual([told]);
  });
});

test("R15: a headcount that cannot take back the seat of a resumed child that is not permitted is only logged", async () => {
  const journal = new MemoryJournal();
  const child = agent("child", async () => done("hired"));
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: child, input: "" })).status));
  await new Runtime({ journal, headcount: () => new FakeHeadcount() }).run(lead, "", { runId: "h" }).result;
  const records = journal.load(RunId("h"));
  const begun = records.findIndex(({ phase }) => phase === "begin") + 1;
  const said: unknown[] = [];
  const quiet = (): void => {};
  const again = new Runtime({
    journal: cut("h", records.slice(0, begun)),
    headcount: () => Object.assign(new FakeHeadcount(), { release: async () => fail() }),
    permissions: { isNoop: false, check: () => ({ allow: false, reason: "no" }) },
    agents: [lead],
    logger: { debug: quiet, info: quiet, warn: quiet, error: (...words) => void said.push(words) },
  });
  expect(await again.resume("h").result).toMatchObject({ status: "completed", output: "denied" });
  const what = expect.stringContaining("could not release the seat of child");
  expect(said).toEqual([[what, { runId: "h", error: "no line to the headcount" }]]);
});

function fail(): never {
  throw new Error("no line to the headcount");
}

test("R16: a hire with a time limit that is none starts nobody", async () => {
  let started = false;
  const child = agent("child", async () => {
    started = true;
    return done("");
  });
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: child, input: "", timeoutS: 0 });
    return done("");
  });
  expect((await new Runtime().run(lead, "").result).status).toBe("failed");
  expect(started).toBe(false);
});

test("R21: a child's own listeners are waited for too", async () => {
  let heard = false;
  const hooks: Hooks = {
    has: (event) => event === "run_end",
    dispatch: () => {},
    async drain() {
      await Promise.resolve();
      heard = true;
    },
  };
  const child: Agent = { id: AgentId("child"), hooks, run: async () => done("") };
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: child, input: "" });
    return done("");
  });
  await new Runtime().run(lead, "").result;
  expect(heard).toBe(true);
});

test("R24: the handle of a child says that it is suspended with its run", async () => {
  const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor("never"))));
  const handles: RunHandle[] = [];
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(waiting, { input: "" });
    handles.push(handle);
    await ctx.join(handle);
    return done("");
  });
  const runtime = new Runtime({ journal: new MemoryJournal() });
  const { result } = runtime.run(lead, "");
  await until(() => handles.length === 1);
  expect(handles[0]?.status).toBe("running");
  await runtime.close();
  expect(await result).toMatchObject({ status: "suspended" });
  expect(handles[0]?.status).toBe("suspended");
});

test("R15: a hire that the headcount calls a mistake is denied, also if the process crashed before that was on record", async () => {
  const seats = new FakeHeadcount();
  const picky: Headcount = Object.assign(Object.create(seats) as FakeHeadcount, {
    acquire: (id: AgentId) => {
      if (!id.startsWith("odd")) return seats.acquire(id);
      throw new InvalidValueError({ field: "agentId", value: id, expected: "somebody else" });
    },
  });
  const odd = agent("odd", async () => done(""));
  const lead = agent("lead", async (ctx) => done((await ctx.hire({ agent: odd, input: "" })).status));
  const journal = new MemoryJournal();
  const ports = { headcount: () => picky, agents: [lead] };
  const first = await new Runtime({ ...ports, journal }).run(lead, "", { runId: "r" }).result;
  expect(first).toMatchObject({ status: "completed", output: "denied" });
  const records = journal.load(RunId("r"));
  const begun = records.findIndex(({ key, phase }) => key.startsWith("hire:odd") && phase === "begin");
  const resumed = new Runtime({ ...ports, journal: cut("r", records.slice(0, begun + 1)) });
  expect(await resumed.resume("r").result).toMatchObject({ status: "completed", output: "denied" });
});

test("R12: what a child returns in this life is what its parent gets: the schema reads it again only where it comes from the record", async () => {
  class Money {
    readonly amount = 5;
  }
  let reads = 0;
  const output: StandardSchema = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => (reads++, { value }),
      jsonSchema: { input: () => ({}), output: () => ({}) },
    },
  };
  const child: Agent = {
    id: AgentId("child"),
    output,
    run: async () => ({ ...done('{"amount":5}'), structured: new Money() }),
  };
  const lead = agent("lead", async (ctx) => {
    const hired = await ctx.hire({ agent: child, input: "" });
    const joined = await ctx.join(await ctx.spawn(child, { input: "" }));
    const [batched] = await ctx.batch([{ kind: "hire", agent: child, input: "" }]);
    const kinds = [hired, joined, batched].map(
      (each) => "result" in each && each.result.structured instanceof Money,
    );
    return done(kinds.join());
  });
  for (const journal of [undefined, new MemoryJournal()])
    expect((await new Runtime({ journal }).run(lead, "").result).output).toBe("true,true,true");
  expect(reads).toBe(0);
});

test("R16: children that are spawned after another was joined can be joined too", async () => {
  const child = agent("child", async (_, { input }) => done(`did ${input}`));
  const lead = agent("lead", async (ctx) => {
    const outputs: string[] = [];
    for (const input of ["1", "2", "3"]) {
      const outcome = await ctx.join(await ctx.spawn(child, { input }));
      outputs.push("result" in outcome ? outcome.result.output : outcome.status);
    }
    return done(outputs.join(", "));
  });
  for (const journal of [undefined, new MemoryJournal()])
    expect((await new Runtime({ journal }).run(lead, "").result).output).toBe("did 1, did 2, did 3");
});

test("R15: a child that is denied a seat or a permission cannot be spawned, and the error says why", async () => {
  const child = agent("child", async () => done(""));
  const heard: unknown[] = [];
  const lead = agent("lead", async (ctx) => {
    heard.push(await ctx.spawn(child, { input: "" }).catch((error: unknown) => error));
    return done("");
  });
  const permissions: Permissions = { isNoop: false, check: () => ({ allow: false, reason: "not here" }) };
  for (const ports of [{ headcount: () => new FakeHeadcount(0) }, { permissions }])
    for (const journal of [undefined, new MemoryJournal()])
      await new Runtime({ ...ports, journal }).run(lead, "").result;
  const full = { code: "BUDGET_EXHAUSTED", dimension: "agents" };
  const forbidden = { code: "MIDDLEWARE_TERMINATION", message: expect.stringContaining("not here") };
  expect(heard).toMatchObject([full, full, forbidden, forbidden]);
});
