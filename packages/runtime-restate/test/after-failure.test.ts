import {
  CancellationError,
  NeedsDecisionError,
  NO_USAGE,
  ProviderError,
  type SerializedError,
} from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { UsedAccount } from "../src/execution/account.ts";
import { countKept, keptOfCall } from "../src/execution/calls.ts";
import { afterFailure } from "../src/execution/kept/after-failure.ts";
import { KeptOperations } from "../src/execution/kept/operations.ts";
import { Recall } from "../src/execution/kept/recall.ts";
import type { Operation, Step } from "../src/execution/kept/steps.ts";
import type { Recorded } from "../src/execution/payment.ts";
import { fakeEffect } from "./fakes.ts";

const down: SerializedError = new ProviderError({ kind: "SERVER_ERROR", message: "down" }).toJSON();
const other: SerializedError = new ProviderError({ kind: "AUTH", message: "no key" }).toJSON();
const paid = [{ usage: { ...NO_USAGE, inputTokens: 7 }, costUsd: 0.1 }];

function call(of: "llm" | "tool", error?: SerializedError): Step {
  const here = error === undefined ? { response: {} } : { error: { ...error } };
  const remaining = { tokens: null, cost: null, turns: null, toolCalls: null };
  const known = { key: "k", fingerprint: "f", at: 1, paused: false, remaining, attempt: 2 };
  return { kind: "call", of, recorded: { ...known, verdict: "done", stored: { here }, paid, settle: [] } };
}

function recordedOf(step: Step): Recorded {
  if (step.kind !== "call") throw new TypeError(`a ${step.kind} is no call`);
  return step.recorded;
}

/** A model call with the key "k". */
const effect = fakeEffect("llm");

function hire(child: string, failure?: SerializedError): Step {
  const outcome =
    failure === undefined ? { status: "completed" } : { status: "failed", failure: { ...failure } };
  return { kind: "hire", child, outcome, tookMs: 30 };
}

function join(child: string, failure?: SerializedError): Step {
  return { ...hire(child, failure), kind: "join" } as Step;
}

/** Each of one step, or of several, under the names that are given. */
function operations(...all: readonly Readonly<Record<string, Step | null>>[]): Operation[] {
  return all.map((steps, at) => ({ asked: Object.keys(steps), steps: Object.values(steps), at }));
}

const fact: Step = { kind: "fact", value: 1 };
const mail = { kind: "mail", message: { id: "m", from: "user", content: "hi", at: 1 } } as const;
const wait: Step = { kind: "wait", name: "word", value: "now" };

test("R24: of an execution that has taken very many steps nothing is kept, so that a long one does not fill the memory", () => {
  const kept = new KeptOperations(2);
  for (const operation of operations({ "fact a": fact }, { "fact b": fact })) kept.add(operation);
  expect(kept.whole).toHaveLength(2);
  for (const operation of operations({ "fact c": fact }, { "fact d": fact })) kept.add(operation);
  expect(kept.whole).toBeUndefined();
});

describe("of an execution that has failed", () => {
  test("R24: the model calls and hires that failed last are made again, with what they had cost, and no tool", () => {
    const [fine, failed, tool, child] = [call("llm"), call("llm", down), call("tool", down), hire("c", down)];
    const all = operations(
      { "call a": call("llm", down) },
      { "call b": failed, "call c": fine, "call d": tool, "hire e": child },
    );
    const { operations: kept, again } = afterFailure({ operations: all, error: down });
    expect(kept.map(({ steps }) => steps)).toEqual([all[0]?.steps, [null, fine, tool, null]]);
    expect([...again]).toEqual([
      ["call b", { paid, attempts: 2, tookMs: 0 }],
      ["hire e", { paid: [], attempts: 0, tookMs: 30 }],
    ]);
  });

  test("R24: what it began and was cut off counts as begun, so that a failure before it stays", () => {
    const all = operations({ "hire a": hire("a", down) }, { "call b": null });
    const { operations: kept, again } = afterFailure({ operations: all, error: down });
    expect([kept, again.size]).toEqual([all, 0]);
  });

  test("R24: a child that failed while others were hired is the cause, if it failed with the same words", () => {
    const all = operations({ "hire a": hire("a", down) }, { "hire b": hire("b") });
    expect([...afterFailure({ operations: all, error: down }).again.keys()]).toEqual(["hire a"]);
    expect(afterFailure({ operations: all, error: other }).again.size).toBe(0);
    const since = [...all, ...operations({ "call c": call("llm") })];
    expect(afterFailure({ operations: since, error: down }).again.size).toBe(0);
  });

  test("R24: a child that was joined and had failed goes on, and one whose end counts does not", () => {
    const spawned = (child: string): Step => ({ kind: "spawn", child });
    const all = operations(
      { "spawn a": spawned("a") },
      { "spawn b": spawned("b") },
      { "join a": join("a") },
      { "join b": join("b", down) },
    );
    const { joined, optional } = afterFailure({ operations: all, error: down });
    expect([[...joined], [...optional.keys()]]).toEqual([["a"], ["join a"]]);
    const recall = new Recall({ operations: all, error: down });
    expect(["a", "b"].map((child) => recall.mayGoOn(child))).toEqual([false, true]);
  });

  test("R24: what it recorded after a call that failed is forgotten, and what it was told is given back", () => {
    const all = operations(
      { "call a": call("llm", down) },
      { "fact b": fact },
      { "mail c": mail },
      { "wait d": wait },
    );
    const recall = new Recall({ operations: all, error: down });
    expect(recall.take(["call a"])).toEqual([null]);
    expect([recall.take(["fact b"]), recall.hasMail("mail z")]).toEqual([[null], true]);
    expect([recall.takeUnread()?.id, recall.takeUnread(), recall.hasMail("mail c")]).toEqual([
      "m",
      undefined,
      undefined,
    ]);
    expect([recall.takeValue("word"), recall.takeValue("word"), recall.takeValue("x")]).toEqual([
      { value: "now" },
      undefined,
      undefined,
    ]);
  });

  test("R24: what it recorded before its own code failed stays, and need not be asked for again", () => {
    const silent: Step = { kind: "ask", heard: { silent: true, ended: true } };
    const all = operations(
      { "call a": call("llm") },
      { "fact b": fact },
      { "mail c": mail },
      { "ask d": silent },
    );
    const recall = new Recall({ operations: all, error: other });
    expect(recall.hasMail("mail c")).toBe(false);
    expect(recall.take(["call a"])).toEqual(all[0]?.steps);
    expect(recall.hasMail("mail c")).toBe(true);
    expect(["mail c", "ask d", "fact b", "fact b"].map((asked) => recall.take([asked])[0])).toEqual([
      mail,
      null,
      fact,
      null,
    ]);
  });

  test("R24: a tool that was stopped has not answered, and is made again; one that failed is not", () => {
    const cancelled = new CancellationError({ reason: "its parent has ended" }).toJSON();
    const all = operations({
      "call a": call("tool", cancelled),
      "call b": call("tool", other),
      "call c": call("tool"),
    });
    const recall = new Recall({ operations: all, error: cancelled });
    expect(recall.take(["call a", "call b", "call c"]).map((step) => step === null)).toEqual([
      true,
      false,
      false,
    ]);
    expect([recall.again("call a")?.paid, recall.again("call b")]).toEqual([paid, undefined]);
  });

  test("R24: what a stopped tool had cost is counted with every further retry, also if somebody has decided not to make it again", () => {
    const stopped = call("tool", new CancellationError({ reason: "its parent has ended" }).toJSON());
    const recall = new Recall({ operations: operations({ "call k f": stopped }), error: down });
    const decided = new NeedsDecisionError({ execId: "e", key: "k", what: "a call", decided: "fail" });
    for (const one of [
      { ok: true, value: { skipped: true } },
      { ok: false, error: decided },
    ] as const) {
      const used = new UsedAccount();
      countKept({ used }, keptOfCall({ recall }, effect, one));
      expect([used.usage.inputTokens, used.total.toolCalls]).toEqual([7, 1]);
    }
  });

  test("R24: what it was not asked for again is left, as it was kept, for another retry", () => {
    const [failed, mail2] = [call("llm", down), { ...mail, message: { ...mail.message, id: "m2" } } as Step];
    const all = operations(
      { "call a": call("llm") },
      { "call b": failed },
      { "mail c": mail },
      { "mail d": mail2 },
      { "wait e": wait },
      { "fact f": fact },
    );
    const recall = new Recall({ operations: all, error: down });
    expect(recall.left).toEqual(all);
    recall.take(["call a"]);
    expect(recall.left).toEqual(all.slice(1));
    recall.take(["call b"]);
    // A fact was recorded for what came of the failure, and is not given again.
    expect(recall.left).toEqual(all.slice(2, 5));
    recall.takeUnread();
    expect(recall.left).toEqual(all.slice(3, 5));
    recall.takeValue("word");
    expect(recall.left).toEqual([all[3]]);
  });

  test("R24: of what it did after it had begun something for the last time, that is left which it has not asked for again", () => {
    const all = operations(
      { "call a": call("llm") },
      { "fact b": fact },
      { "wait c": { ...wait }, "wait d": null, "wait e": wait },
    );
    const recall = new Recall({ operations: all, error: other });
    recall.take(["call a"]);
    expect(recall.left).toEqual(all.slice(1));
    recall.take(["fact b"]);
    recall.take(["wait c"]);
    expect(recall.left).toEqual([{ ...all[2], steps: [null, null, wait] }]);
  });

  test("R24: a message that is left for another retry is given again under whatever name it is asked for: it is read only once", () => {
    const empty: Step = { kind: "mail", message: null };
    const failed = operations({ "call a": call("llm", down) }, { "mail c": empty }, { "mail d": mail });
    const first = new Recall({ operations: failed, error: down });
    first.take(["call a"]);
    // Now the call has an answer, and the agent is stopped.
    const all = [...operations({ "call a": call("llm") }), ...first.left];
    const recall = new Recall({ operations: all, error: other });
    recall.take(["call a"]);
    expect(recall.hasMail("mail c")).toBe(true);
    expect(recall.take(["mail c"])).toEqual([null]);
    expect(recall.takeUnread()).toEqual(mail.message);
    expect([recall.hasMail("mail d"), recall.takeUnread(), recall.left]).toEqual([undefined, undefined, []]);
  });

  test("R24: a call that failed and was not made again, because its agent was stopped, is still the one that failed", () => {
    const failed = call("llm", down);
    const recall = new Recall({ operations: operations({ "call k f": failed }), error: down });
    expect(keptOfCall({ recall }, effect, { ok: false, error: new Error("stopped") })).toBe(failed);
    const fresh = { recall: undefined };
    expect(keptOfCall(fresh, effect, { ok: false, error: new Error("stopped") })).toBeNull();
  });

  test("R24: what each failed try at a call has cost is counted with every further retry, also when it has an answer", () => {
    let failed = call("llm", down);
    for (const input of [14, 21]) {
      const recall = new Recall({ operations: operations({ "call k f": failed }), error: down });
      const made = { ok: true, value: { recorded: recordedOf(failed), isFresh: true } } as const;
      failed = keptOfCall({ recall }, effect, made) ?? failed;
      const used = new UsedAccount();
      countKept({ used }, failed);
      expect([used.usage.inputTokens, used.total.modelCalls]).toEqual([input, 1]);
    }
  });
});
