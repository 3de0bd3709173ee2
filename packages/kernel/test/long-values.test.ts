import {
  AgentNotFoundError,
  BudgetExhaustedError,
  CancellationError,
  checkFields,
  InvalidValueError,
  JournalCorruptError,
  JournalFailedError,
  JournalLockedError,
  LaneViolationError,
  MiddlewareError,
  MiddlewareTermination,
  NeedsDecisionError,
  NonDeterminismError,
} from "@ravi/kernel";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";

const LONG = "x".repeat(1_000_000);

test("a message does not repeat a value of a megabyte, whatever it is", () => {
  for (const value of [LONG, 10n ** 5_000n, -(10n ** 5_000n), [LONG], { LONG }]) {
    const { message } = new InvalidValueError({ field: "a", value, expected: "less" });
    expect(message.length).toBeLessThan(200);
  }
  expect(new InvalidValueError({ field: "a", value: -12n, expected: "less" }).value).toBe("-12n");
});

test("nor the name of a field that nobody knows", () => {
  expect(() => checkFields("options", { [LONG]: 1 }, ["a"])).toThrow(
    /^options\.x{77}\.\.\. is 1; expected no field of that/,
  );
});

test("nor a name that somebody has given, wherever it stands", () => {
  const errors: Error[] = [
    new InvalidValueError({ field: LONG, value: 1, expected: "less" }),
    new InvalidValueError({ field: "a", value: 1, expected: LONG }),
    new AgentNotFoundError(LONG),
    new JournalLockedError({ runId: LONG, owner: LONG }),
    new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: LONG }),
    new MiddlewareError({ layer: LONG, problem: "broken" }),
    new MiddlewareTermination({ layer: LONG, reason: "no" }),
    new JournalFailedError({ what: "it", final: true, cause: new Error(LONG) }),
    new JournalFailedError({ what: "it", final: true, cause: LONG }),
  ];
  const needs = { execId: LONG, key: LONG, what: LONG };
  errors.push(
    new CancellationError(LONG),
    new NonDeterminismError({ execId: LONG, key: LONG, recorded: LONG, requested: LONG }),
    new LaneViolationError({ execId: LONG, running: LONG, attempted: LONG }),
    new NeedsDecisionError(needs),
    new NeedsDecisionError({ ...needs, others: Array.from({ length: 1_000 }, (_, n) => `r:tool:pay#${n}`) }),
    new JournalCorruptError({ runId: LONG, position: 1, problem: "it is torn" }),
  );
  for (const { message } of errors) expect(message.length).toBeLessThan(6_000);
  // What a program reads is whole.
  expect(new CancellationError(LONG).reason).toBe(LONG);
  expect(new NeedsDecisionError(needs).pending).toEqual([`${LONG}:${LONG}`]);
  expect(errors[0]?.message).toMatch(/^x{600}\.\.\. \(1000000 characters\) is 1; expected less$/);
});

test.each<[string, unknown]>([
  ["an object", Object.create(null)],
  ["an object", { toString: () => LONG }],
  ["a symbol", Symbol("x")],
  ["undefined", undefined],
  ["disk full", "disk full"],
  [
    "an error of another realm, as in jest",
    runInNewContext('new Error("an error of another realm, as in jest")'),
  ],
])("a store that fails with anything at all says so: %s", (why, cause) => {
  const { message } = new JournalFailedError({ what: "it failed", final: false, cause });
  expect(message).toBe(`it failed: ${why}; nothing was changed; try again`);
});
