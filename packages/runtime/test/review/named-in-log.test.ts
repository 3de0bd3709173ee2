import { expect, test } from "vitest";
import type { Agent, Hooks, JsonObject, Ledger, Limiter, Logger, Permit, Telemetry } from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { agent, ask, done, FakeLedger, hangingPayer } from "./helpers.ts";

function fail(message: string): never {
  throw new Error(message);
}

const model = scriptedModel(() => "ok", { record: false });
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
