import { describe, expect, test } from "vitest";
import { Router } from "@ravi/architectures";
import { decide } from "../../src/strategies/router.ts";
import { asked, broke, run, says, told, usageOf, worker } from "../support.ts";

const team = (): { billing: ReturnType<typeof worker>; tech: ReturnType<typeof worker> } => ({
  billing: worker("billing", [says("your invoice")], "Invoices and payments."),
  tech: worker("tech", [says("turn it off and on")], "Things that do not work."),
});

describe("J10: Router", () => {
  test("one call chooses, and the chosen agent's answer is the answer: 1 call and the worker's", async () => {
    const routes = team();
    const { result, session, model, events } = await run(new Router({ routes }), [
      says('{"route": "billing", "confidence": 0.9}'),
    ]);
    expect(result).toEqual({ status: "completed", output: "your invoice", stopReason: "done" });
    expect(asked(model.calls[0]?.request)).toContain("- tech: Things that do not work.");
    expect(events).toContainEqual({ type: "handoff", to: "billing", task: "the task" });
    expect(session.cumulativeUsage).toEqual(usageOf(model, routes.billing.model));
    expect(model.calls.length + routes.billing.model.calls.length).toBe(2);
    expect(routes.tech.model.calls).toEqual([]);
  });

  test.each([
    ['{"route": "billing", "confidence": 0.2}', "unsure"],
    ['{"route": "billing", "confidence": 0.499}', "unsure"],
    ["Nobody fits, I fear.", "unknown"],
    ["This is not for billing.", "unknown"],
    ['{"route": "sales", "confidence": 1}', "unknown"],
  ])("%s goes to the fallback", async (choice, because) => {
    const routes = team();
    const { result, events } = await run(new Router({ routes, fallback: "tech" }), [choice]);
    expect(result.output).toBe("turn it off and on");
    expect(told(events, "router.route")).toMatchObject([{ route: "tech", because }]);
  });

  test("a confidence of 0.5 is enough", async () => {
    const choice = '{"route": "billing", "confidence": 0.5}';
    const { result } = await run(new Router({ routes: team(), fallback: "tech" }), [choice]);
    expect(result.output).toBe("your invoice");
  });

  test("without a fallback the agent answers itself", async () => {
    const { result, model } = await run(new Router({ routes: team() }), ["hm", "my own answer"]);
    expect(result.output).toBe("my own answer");
    expect(model.calls).toHaveLength(2);
  });

  test("a worker that fails is replaced by the fallback; without one its error is the run's", async () => {
    const broken = worker("broken", () => new Error("out of order"));
    const choice = '{"route": "broken"}';
    const { tech } = team();
    const { result } = await run(new Router({ routes: { broken, tech }, fallback: "tech" }), [choice]);
    expect(result.output).toBe("turn it off and on");
    await expect(run(new Router({ routes: { broken, tech } }), [choice])).rejects.toThrow("out of order");
    await expect(run(new Router({ routes: { broken, tech }, fallback: "broken" }), [choice])).rejects.toThrow(
      "out of order",
    );
  });

  test("a worker that was cut off is never a success", async () => {
    const cut = worker("cut", [{ text: "half", finishReason: "length" }]);
    const { result } = await run(new Router({ routes: { cut } }), ["cut"]);
    expect(result).toEqual({ status: "partial", output: "half", stopReason: "length" });
  });

  test("decides: a name without a confidence is a choice, a confidence without a name is none", () => {
    const rest = { least: 0.5, fallback: undefined };
    expect(decide({ ...rest, route: "a", confidence: undefined })).toMatchObject({
      route: "a",
      because: "chosen",
    });
    expect(decide({ ...rest, route: undefined, confidence: 1 })).toEqual({
      confidence: 1,
      because: "unknown",
    });
    expect(decide({ ...rest, route: "a", confidence: 0.5 })).toMatchObject({ because: "chosen" });
  });

  test("a fallback that is no route is refused", () => {
    expect(() => new Router({ routes: team(), fallback: "sales" })).toThrow("Router.fallback");
    expect(() => new Router({ routes: {} })).toThrow("expected at least 1 agent");
  });

  test("when the money ends before the choice, the last turn answers", async () => {
    const { result } = await run(
      new Router({ routes: team() }),
      broke(() => "", 0),
    );
    expect(result).toEqual({ status: "partial", output: "landed from: the task", stopReason: "budget" });
  });
});
