import { describe, expect, test } from "vitest";
import type {
  Agent,
  AuditLog,
  Hooks,
  JsonObject,
  Ledger,
  Limiter,
  Logger,
  Permit,
  Telemetry,
} from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, ask, done, FakeLedger, hangingPayer } from "./support/helpers.ts";

const broken = (): never => {
  throw new Error("the disk is full");
};

/** As code that no compiler has seen may write it. */
const late = (): unknown => Promise.reject(new Error("the disk is full"));

const LOGGERS: readonly (readonly [string, Logger])[] = [
  ["throws", { debug: broken, info: broken, warn: broken, error: broken }],
  ["rejects", { debug: late, info: late, warn: late, error: late }],
];

const model = scriptedModel(() => "ok", { record: false });

const asking = agent("a", async (ctx) => done(String((await ctx.llm(model, ask("go"))).message.content)));

describe.each(LOGGERS)("a log that %s", (_, logger) => {
  test("R27: an observer that throws is nobody's concern", async () => {
    const { result } = new Runtime({ logger }).run(asking, "go", { onEvent: broken });
    expect(await result).toMatchObject({ status: "completed", output: "ok" });
  });

  test.each<[string, RuntimeOptions]>([
    ["an audit log that fails", { auditLog: { isNoop: false, append: broken } satisfies AuditLog }],
    [
      "telemetry that fails",
      { telemetry: { isNoop: false, startSpan: broken, metric: broken }, ledger: () => new FakeLedger() },
    ],
  ])("R27: %s is nobody's concern", async (_name, ports) => {
    const { result } = new Runtime({ ...ports, logger }).run(asking, "go");
    expect(await result).toMatchObject({ status: "completed", output: "ok" });
  });

  test("R9: an agent that does not stop when it is told to is given up", async () => {
    const clock = virtualClock();
    const deaf = agent("deaf", () => new Promise<never>(() => {}));
    const handle = new Runtime({ logger, clock }).run(deaf, "go");
    await clock.advance(1);
    handle.cancel("enough");
    await clock.advance(1_000);
    expect(await handle.result).toMatchObject({ status: "cancelled" });
  });

  test("R24: a message that is refused three times is put aside, and the agent goes on", async () => {
    const { promise: refused, resolve: refuse } = Promise.withResolvers<void>();
    const fussy = agent("fussy", async (_ctx, inbox) => {
      for (let times = 0; times < 3; times++) await inbox.nack(await inbox.receive(), "not now");
      refuse();
      return done(String((await inbox.receive()).content));
    });
    const runtime = new Runtime({ logger });
    const handle = runtime.run(fussy, "go", { runId: "r" });
    await runtime.send("r", "one");
    await refused;
    await runtime.send("r", "two");
    expect(await handle.result).toMatchObject({ status: "completed", output: "two" });
  });

  test("R24: a run that can no longer be reached from outside goes on", async () => {
    const journal = new MemoryJournal();
    const runtime = new Runtime({ logger, journal });
    const posting = agent("posting", async (ctx) => {
      Object.assign(journal, { items: broken });
      journal.post(ctx.supervision.runId, { id: "1", kind: "signal", name: "x", value: 1, at: 0 });
      return done(String((await ctx.llm(model, ask("go"))).message.content));
    });
    expect(await runtime.run(posting, "go").result).toMatchObject({ status: "completed", output: "ok" });
  });
});

function fail(message: string): never {
  throw new Error(message);
}

const asks = agent("asks", async (ctx) => {
  await ctx.llm(model, ask("hello"));
  return done("");
});

const isNoop = false;

const telemetry: Telemetry = { isNoop, startSpan: () => fail("broken"), metric() {} };

const permit: Permit = { release: () => fail("broken"), [Symbol.dispose]() {} };

const limiter: Limiter = { acquire: async () => permit, slowDown() {} };

const hooks: Hooks = { has: () => true, dispatch: () => fail("broken") };

const unreleasable = Object.assign(new MemoryJournal(), { release: () => fail("broken") });

const refusing: Ledger = Object.assign(new FakeLedger(), { reserve: () => fail("broken") });

const unreturned: Ledger = Object.assign(new FakeLedger(), {
  reserve: async () => ({ settle: () => fail("broken"), cancel: () => fail("broken") }),
});

const paysTwice: Agent = { ...asks, defaults: { executionBudget: refusing } };

test.each<[string, RuntimeOptions, Agent]>([
  ["an audit log that fails", { auditLog: { isNoop, append: () => fail("broken") } }, hangingPayer(() => {})],
  ["telemetry that fails", { telemetry }, asks],
  ["a limiter that fails", { limiter }, asks],
  ["hooks of one's own that fail", { hooks }, asks],
  ["a journal that fails to release the run", { journal: unreleasable }, asks],
  ["an agent that does not stop", {}, agent("stubborn", () => new Promise(() => {}))],
  ["money that cannot be given back", { ledger: () => unreturned }, paysTwice],
])("an operator finds the run in what is logged about %s", async (_, options, working) => {
  const said: (JsonObject | undefined)[] = [];
  const hear = (_message: string, fields?: JsonObject): void => void said.push(fields);
  const logger: Logger = { debug: hear, info: hear, warn: hear, error: hear };
  const controller = new AbortController();
  const runtime = new Runtime({ ...options, logger });
  const { result } = runtime.run(working, "", { runId: "the-run", signal: controller.signal });
  if (working !== asks && working !== paysTwice) setImmediate(() => controller.abort());
  await result;
  expect(said).not.toEqual([]);
  for (const fields of said) expect(fields).toMatchObject({ runId: "the-run" });
});

test("an operator finds the run in what is logged about a listener that fails", async () => {
  const said: (JsonObject | undefined)[] = [];
  const hear = (_message: string, fields?: JsonObject): void => void said.push(fields);
  const runtime = new Runtime({ logger: { debug: hear, info: hear, warn: hear, error: hear } });
  await runtime.run(asks, "", { runId: "the-run", onEvent: () => fail("broken") }).result;
  expect(said[0]).toMatchObject({ execId: "the-run", error: "broken" });
});
