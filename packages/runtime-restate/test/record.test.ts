import { type Effect, type JsonObject, NO_USAGE, ToolError } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { entryOfCall, eventOfEnd, eventOfWait, eventsOfCall, nameOf } from "../src/execution/record.ts";
import { OVER, played } from "./played.ts";

const effect = (more: Partial<Effect>): Effect => ({
  kind: "llm",
  key: "llm:a#1",
  what: "the call to a",
  onDoubt: "retry",
  fingerprint: () => "",
  begin: () => ({}),
  run: () => ({}),
  record: () => ({}),
  restore: () => ({}),
  spend: () => undefined,
  ...more,
});
const paid = { usage: { ...NO_USAGE, inputTokens: 3 }, costUsd: 0.5 };
const response = (more: JsonObject = {}): JsonObject => ({
  response: {
    message: { role: "assistant", content: "yes", ...more },
    finishReason: "stop",
    usage: NO_USAGE,
  },
});

describe("what is on record of a call", () => {
  test("J3: the usage of a model call is that of all its tries", () => {
    const events = eventsOfCall(effect({}), response(), [paid, { ...paid, isWaste: true }]);
    expect(events).toEqual([
      { type: "text", delta: "yes" },
      { type: "usage", usage: { ...NO_USAGE, inputTokens: 6 }, costUsd: 1 },
    ]);
  });

  test("J3: an answer that is none is not told, but what it has cost", () => {
    const garbled = { response: { message: { role: "assistant" } } };
    expect(eventsOfCall(effect({}), garbled, [paid]).map(({ type }) => type)).toEqual(["usage"]);
  });

  test("J3: a failure is told with what it has cost", () => {
    const error = new ToolError({ toolName: "t", message: "no" }).toJSON();
    const events = eventsOfCall(effect({}), { error: { ...error } }, [paid]);
    expect(events.map(({ type }) => type)).toEqual(["usage", "error"]);
  });

  test("J3: what the models of a tool have used is told with its result, under the id of the call", () => {
    const call = { id: "c1", name: "guess", arguments: "{}" };
    const made = [
      { ...paid, isNested: true },
      { usage: NO_USAGE, costUsd: 0, toolCalls: 1 },
    ];
    const body = { content: "three", isError: false };
    expect(eventsOfCall(effect({ kind: "tool", key: "tool:guess#1", call }), body, made)).toEqual([
      { type: "usage", usage: paid.usage, costUsd: 0.5 },
      { type: "toolResult", callId: "c1", name: "guess", content: "three", isError: false },
    ]);
  });

  test("J3: a wait that is no approval is not told, nor is a child that was left alone", () => {
    expect(eventOfWait({ kind: "wait", key: "k", name: "word" })).toBeUndefined();
    const question = { tool: "pay", callId: "c1" };
    expect(eventOfWait({ kind: "wait", key: "k", name: "may-i", question })).toEqual({
      type: "progress",
      name: "approvalRequested",
      data: { name: "may-i", question },
      callId: "c1",
    });
    expect(eventOfWait({ kind: "wait", key: "k", name: "may-i", question: "?" })).not.toHaveProperty(
      "callId",
    );
    expect(
      eventOfEnd({ status: "failed", error: new ToolError({ toolName: "t", message: "no" }) }),
    ).toMatchObject({
      type: "error",
      error: { message: "no" },
    });
  });
});

describe("the entry of a call", () => {
  const at = { at: 20, startedAt: 10, paid: [paid] };

  test("R24: a model call has the name of the model that has answered, and what it has used", () => {
    const model = effect({ key: "llm:openai/gpt-5/mini#12" });
    const call = { type: "call", key: model.key, kind: "llm", startedAt: 10, endedAt: 20 };
    const used = { usage: paid.usage, costUsd: 0.5 };
    expect(entryOfCall(model, response(), at)).toEqual({
      ...call,
      ...used,
      name: "openai:gpt-5/mini",
      status: "ok",
    });
    const sentTo = { provider: "anthropic", model: "m" };
    expect(entryOfCall(model, { ...response(), sentTo }, at).name).toBe("anthropic:m");
    const failed = entryOfCall(model, { error: {} }, { at: 20, paid: [] });
    expect(failed).toEqual({
      ...call,
      startedAt: 20,
      name: "openai:gpt-5/mini",
      status: "error",
      usage: NO_USAGE,
      costUsd: 0,
    });
  });

  test.each<[JsonObject, string]>([
    [{ content: "yes", isError: false }, "ok"],
    [{ content: "no", isError: true }, "error"],
    [{ error: {} }, "error"],
  ])("R24: a tool call with the outcome %j is %s", (body, status) => {
    const pay = effect({ kind: "tool", key: "tool:0:1", call: { id: "c1", name: "pay", arguments: "{}" } });
    expect(entryOfCall(pay, body, at)).toMatchObject({ name: "pay", status });
    expect(nameOf(effect({ kind: "tool", key: "tool:0:1" }))).toBe("tool:0:1");
  });
});

describe("recordedEvents", () => {
  const event = (seq: number) => ({
    seq,
    at: 0,
    agentId: "a",
    execId: "r",
    event: { type: "step", step: seq },
  });

  test("J3: of a run that is over, it waits for what is still on its way", async () => {
    const pages = [
      { events: [event(1), event(2)], isClosed: false },
      { events: [], isClosed: false },
      { events: [], isClosed: false },
      { events: [event(3)], isClosed: true },
    ];
    const from: unknown[] = [];
    const read = (asked: unknown) => {
      from.push(asked);
      return pages.shift();
    };
    await played({ standings: OVER, read }, async (runtime) => {
      expect((await runtime.recordedEvents("r")).map(({ seq }) => seq)).toEqual([1, 2, 3]);
      const isRecord = true;
      expect(from).toEqual([1, 3, 3, 3].map((at) => ({ from: at, isRecord })));
    });
  });

  test("J3: calls on record are no events, and leave no gap", async () => {
    const entry = { ...event(2), event: { type: "call", key: "llm:a#1" } };
    const read = { events: [event(1), entry, event(3)], isClosed: true };
    await played({ standings: OVER, read }, async (runtime) => {
      const events = await runtime.recordedEvents("r");
      expect(events.map(({ seq, event: told }) => [seq, "step" in told && told.step])).toEqual([
        [1, 1],
        [2, 3],
      ]);
    });
  });

  test("J3: of one that is not, it gives what there is; of one that is deleted meanwhile, an error", async () => {
    const read = { events: [], isClosed: false };
    const running = { known: true, version: 1, status: "running" };
    await played({ standings: running, read }, async (runtime) => {
      expect(await runtime.recordedEvents("r")).toEqual([]);
    });
    const standings = [OVER, { known: false, version: 0, status: "pending" }];
    await played({ standings: () => standings.shift(), read }, async (runtime) => {
      await expect(runtime.recordedEvents("r")).rejects.toMatchObject({ field: "runId" });
      await runtime.close();
      await expect(runtime.recordedEvents("r")).rejects.toMatchObject({ code: "INVALID_VALUE" });
    });
  });
});
