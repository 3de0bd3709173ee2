import { describe, expect, test } from "vitest";
import type { AuditLog, Logger } from "@ravi/kernel";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, ask, done, FakeLedger } from "./helpers.ts";

// A log never changes a run, not even one that fails itself.

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
