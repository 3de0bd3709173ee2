import { describe, expect, test } from "vitest";
import type { JsonObject } from "@ravi/kernel";
import { Supervisor } from "@ravi/architectures";
import { asked, broke, EACH, run, says, told, usageOf, worker } from "../support.ts";

const calls = (...made: readonly (readonly [string, JsonObject])[]) => ({
  toolCalls: made.map(([name, args]) => ({ name, arguments: args })),
  usage: EACH,
});
const results = (events: readonly { type: string }[]): unknown[] =>
  events.filter(({ type }) => type === "toolResult");

describe("J10: Supervisor", () => {
  test("delegates to several at once and answers from what they found", async () => {
    const workers = { ann: worker("ann", [says("A")], "Knows a."), bob: worker("bob", [says("B")]) };
    const { result, session, model } = await run(new Supervisor({ workers }), [
      calls(["delegate", { worker: "ann", task: "find a" }], ["delegate", { worker: "Bob", task: "find b" }]),
      says("A and B"),
    ]);
    expect(result).toEqual({ status: "completed", output: "A and B", stopReason: "done" });
    expect(model.calls[0]?.request.messages[0]).toMatchObject({
      role: "system",
      content: expect.stringContaining("- ann: Knows a."),
    });
    expect(asked(workers.ann.model.calls[0]?.request)).toBe("find a");
    expect(session.cumulativeUsage).toEqual(usageOf(model, workers.ann.model, workers.bob.model));
  });

  test("forward_message gives a worker's answer unchanged, without another call", async () => {
    const workers = { ann: worker("ann", [says("word for word")]) };
    const { result, model, events } = await run(new Supervisor({ workers }), [
      calls(["delegate", { worker: "ann", task: "write it" }]),
      calls(["forward_message", { worker: "ann" }]),
    ]);
    expect(result).toEqual({ status: "completed", output: "word for word", stopReason: "done" });
    expect(model.calls).toHaveLength(2);
    expect(told(events, "supervisor.forwarded")).toHaveLength(1);
  });

  test("a part is not forwarded as the whole, and nothing is forwarded that nobody said", async () => {
    const workers = { ann: worker("ann", [{ text: "half", finishReason: "length" }]) };
    const { result, events } = await run(new Supervisor({ workers }), [
      calls(["forward_message", { worker: "ann" }]),
      calls(["delegate", { worker: "ann", task: "write it" }]),
      calls(["forward_message", { worker: "ann" }]),
    ]);
    expect(result).toEqual({ status: "partial", output: "half", stopReason: "length" });
    expect(results(events)[0]).toMatchObject({
      isError: true,
      content: expect.stringContaining("has not answered yet"),
    });
  });

  test("who is not in the team is named, and the supervisor is told who is", async () => {
    const { events } = await run(new Supervisor({ workers: { ann: worker("ann", []) } }), [
      calls(["delegate", { worker: "eve", task: "spy" }], ["delegate", { task: "whose?" }]),
      "then I do it myself",
    ]);
    expect(results(events)).toMatchObject([
      { content: expect.stringContaining("one of ann") },
      { isError: true },
    ]);
  });

  test("it may make five workers of its own, and no more; they can be delegated to again", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const { result, session, model, events } = await run(
      new Supervisor({ workers: {}, spawn: true }),
      (request) => {
        const text = asked(request);
        if (text.startsWith("job")) return says(`did ${text}`);
        const turn = request.messages.filter(({ role }) => role === "assistant").length;
        if (turn === 0)
          return calls(
            ...names.map(
              (name) => ["spawn", { name, instructions: `You are ${name}.`, task: `job ${name}` }] as const,
            ),
          );
        if (turn === 1) return calls(["delegate", { worker: "a", task: "job again" }]);
        return says("done");
      },
    );
    expect(result.output).toBe("done");
    const said = results(events) as { content: string; isError: boolean }[];
    expect(said.filter(({ isError }) => isError)).toMatchObject([
      { content: expect.stringContaining("no more workers") },
    ]);
    expect(said.at(-1)).toMatchObject({ content: "did job again" });
    expect(session.cumulativeUsage).toEqual(usageOf(model));
    expect(model.calls).toHaveLength(3 + 5 + 1);
  });

  test("without spawn there is no such tool", async () => {
    const { model } = await run(new Supervisor({ workers: { ann: worker("ann", []) } }), ["hello"]);
    expect(model.calls[0]?.request.tools?.map(({ name }) => name)).toEqual(["delegate", "forward_message"]);
  });

  test("makes maxTurns + 1 calls of its own at the most", async () => {
    const workers = { ann: worker("ann", () => says("again")) };
    let n = 0;
    const { result, model } = await run(
      new Supervisor({ workers }),
      ({ tools }) =>
        tools === undefined ? "enough" : calls(["delegate", { worker: "ann", task: `job ${n++}` }]),
      { maxTurns: 4 },
    );
    expect(model.calls).toHaveLength(4 + 1);
    expect(result).toEqual({ status: "partial", output: "enough", stopReason: "steps" });
  });

  test("when the money ends, the last turn answers from what the team found", async () => {
    const workers = { ann: worker("ann", [says("A")]) };
    let first = true;
    const money = broke(() => "", 1);
    const { result } = await run(new Supervisor({ workers }), (request, call) => {
      if (!first) return typeof money === "function" ? money(request, call + 1) : "";
      first = false;
      if (typeof money === "function") void money(request, call);
      return calls(["delegate", { worker: "ann", task: "find a" }]);
    });
    expect(result).toMatchObject({
      status: "partial",
      stopReason: "budget",
      output: expect.stringContaining("landed"),
    });
  });
});
