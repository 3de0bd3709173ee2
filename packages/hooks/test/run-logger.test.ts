import { HookEvent } from "@ravi/kernel";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HookManager, RunLogger } from "../src/index.ts";
import { base, dispatchSample, EVENTS, llmEnd, memoryLogger, samples } from "./sample.ts";

const RUNS = process.env["RAVI_LONG"] ? 10_000 : 200;
const { STEP_START } = HookEvent;

test("R22: every event is kept with its name, its time and its payload", () => {
  const hooks = new HookManager();
  const log = new RunLogger();
  log.attachTo(hooks);
  for (const event of EVENTS) void dispatchSample(hooks, event);
  const payloads = samples();
  expect(log.entries()).toEqual(EVENTS.map((event) => ({ event, at: 1, payload: payloads[event] })));
  expect(log.dropped).toBe(0);
});

test("R22: five hundred entries are kept by default, the newest, and the others are counted", () => {
  const hooks = new HookManager();
  const log = new RunLogger();
  log.attachTo(hooks);
  for (let at = 0; at < 501; at++) void hooks.dispatch(STEP_START, { ...base(at), step: at });
  expect(log.entries()).toHaveLength(500);
  expect(log.entries()[0]?.at).toBe(1);
  expect(log.entries().at(-1)?.at).toBe(500);
  expect(log.dropped).toBe(1);
});

test("R22: for any limit and any number of events the last ones are there, in order", () => {
  const sizes = fc.array(fc.nat({ max: 25 }), { maxLength: 4 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), sizes, (limit, bursts) => {
      const hooks = new HookManager();
      const log = new RunLogger({ limit });
      log.attachTo(hooks);
      for (const burst of bursts) {
        const sent: number[] = [];
        for (let at = 0; at < burst; at++) {
          void hooks.dispatch(STEP_START, { ...base(at), step: at });
          sent.push(at);
          expect(log.entries().map((entry) => entry.at)).toEqual(sent.slice(-limit));
          expect(log.dropped).toBe(Math.max(0, sent.length - limit));
        }
        log.clear();
        expect([log.entries().length, log.dropped]).toEqual([0, 0]);
      }
    }),
    { numRuns: RUNS },
  );
});

test("R22: entries are frozen, and the list that is handed out is the caller's", () => {
  const hooks = new HookManager();
  const log = new RunLogger();
  log.attachTo(hooks);
  void hooks.dispatch(HookEvent.LLM_END, llmEnd());
  const entries = log.entries();
  expect(Object.isFrozen(entries[0])).toBe(true);
  expect(Object.isFrozen(entries[0]?.payload)).toBe(true);
  (entries as unknown[]).length = 0;
  expect(log.entries()).toHaveLength(1);
});

test("R22: entries are forwarded to a logger at the level asked for; one that fails costs no entry", () => {
  const logger = memoryLogger();
  const hooks = new HookManager();
  new RunLogger({ logger }).attachTo(hooks);
  new RunLogger({ logger, level: "info" }).attachTo(hooks);
  const fail = (): never => {
    throw new Error("disk full");
  };
  const failing = new RunLogger({ logger: { debug: fail, info: fail, warn: fail, error: fail } });
  failing.attachTo(hooks);
  void hooks.dispatch(STEP_START, { ...base(), step: 3 });
  expect(logger.lines).toEqual([
    { level: "debug", message: STEP_START, fields: { ...base(), step: 3 } },
    { level: "info", message: STEP_START, fields: { ...base(), step: 3 } },
  ]);
  expect(failing.entries()).toHaveLength(1);
});

test("R22: detach ends listening, keeps the entries and leaves nothing behind", () => {
  const hooks = new HookManager();
  const log = new RunLogger();
  const detach = log.attachTo(hooks);
  log.attachTo(hooks);
  void dispatchSample(hooks, STEP_START);
  expect(log.entries()).toHaveLength(1);
  detach();
  expect(hooks.has(STEP_START)).toBe(true);
  log.detach();
  expect(EVENTS.filter((event) => hooks.has(event))).toEqual([]);
  expect(log.entries()).toHaveLength(1);
});

test("R22: a limit below 1, an unknown level and a misspelt option are refused", () => {
  for (const options of [{ limit: 0 }, { limit: 1.5 }, { level: "loud" }, { size: 5 }]) {
    expect(() => new RunLogger(options as never)).toThrow(expect.objectContaining({ code: "INVALID_VALUE" }));
  }
});
