import { CancellationError, CancellationToken, NeedsDecisionError, ProviderError } from "@ravi/kernel";
import { expect, test } from "vitest";
import { UsedAccount } from "../src/execution/account.ts";
import { AdmissionOrder } from "../src/execution/admission-order.ts";
import type { Attempt } from "../src/execution/attempt.ts";
import { paying } from "../src/execution/calls.ts";
import { Recall } from "../src/execution/kept/recall.ts";
import type { Recorded } from "../src/execution/payment.ts";
import { fakeEffect } from "./fakes.ts";

const NOTHING = {
  key: "k",
  fingerprint: "f",
  at: 1,
  paused: false,
  remaining: { tokens: null, cost: null, turns: null, toolCalls: null },
  attempt: 1,
  paid: [],
  settle: [],
} as const;
const down = new ProviderError({ kind: "SERVER_ERROR", message: "down" }).toJSON();

/** An attempt at an execution that was stopped while it made a call, and the names of what it has recorded since. */
function retrying() {
  const here = { error: { ...new CancellationError({ reason: "its parent has ended" }).toJSON() } };
  const recorded: Recorded = { ...NOTHING, verdict: "done", isCutOff: true, stored: { here } };
  const asked: string[] = [];
  const token = new CancellationToken();
  const attempt: Partial<Attempt> = {
    token,
    used: new UsedAccount(),
    recall: new Recall({
      operations: [{ asked: ["call k f"], steps: [{ kind: "call", of: "tool", recorded }], at: 1 }],
      error: down,
    }),
    unsettled: [],
    learn: () => {},
    learnSent: () => {},
    applyStop: () => token.cancel("enough"),
  };
  const start = { execId: "run" };
  const run = (name: string): void => void asked.push(name);
  const context = { run, awakeable: () => ({ id: "a", promise: undefined }) };
  return { asked, attempt: Object.assign(attempt as Attempt, { start, context }) };
}

const effect = fakeEffect("tool");

test("R24: a call that was cut off is in doubt once it is made again, and not if its agent is stopped before", () => {
  for (const [verdict, left] of [
    ["done", [{ left: "run:k" }]],
    ["stopped", []],
  ] as const) {
    const { attempt } = retrying();
    const steps = paying(attempt, 1, effect, new AdmissionOrder().next());
    steps.next();
    const end = (): unknown => steps.next({ ...NOTHING, verdict });
    if (verdict === "done") expect(end()).toMatchObject({ done: true });
    else expect(end).toThrow(CancellationError);
    expect(attempt.unsettled).toEqual(left);
  }
});

test("R24: a tool that was cut off, and is not idempotent, is not called again until somebody has decided; calls beside it do not wait", async () => {
  for (const [decision, then] of [
    ["retry", ["doubt", "tool"]],
    ["skip", ["doubt"]],
    ["fail", ["doubt"]],
  ] as const) {
    const { attempt, asked } = retrying();
    const order = new AdmissionOrder();
    const [turn, nextTurn] = [order.next(), order.next()];
    const steps = paying(attempt, 1, { ...effect, onDoubt: "ask" }, turn);
    steps.next();
    await nextTurn.reached();
    const decided = (): unknown => steps.next({ decision });
    if (decision === "fail") expect(decided).toThrow(NeedsDecisionError);
    else if (decision === "skip") expect(decided()).toEqual({ done: true, value: { skipped: true } });
    else expect(decided()).toMatchObject({ done: false });
    expect(asked).toEqual(then);
    expect(attempt.unsettled).toEqual([]);
  }
});
