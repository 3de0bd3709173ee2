import { describe, expect, test } from "vitest";
import { ToolError } from "@ravi/kernel";
import { EventRecorder, type RecordedEvent } from "../src/index.ts";

describe("J11: telemetry as a record of events", () => {
  test("spans with their times, attributes and errors, and metrics, in the order in which they ended", () => {
    let now = 100;
    const recorder = new EventRecorder({ clock: { now: () => now } });
    const outer = recorder.startSpan("run", { agentId: "lead" });
    now = 110;
    const inner = recorder.startSpan("llm", { target: "gpt" });
    inner.setAttribute("inputTokens", 12);
    inner.recordError(new ToolError({ toolName: "x", message: "broke" }));
    now = 130;
    inner.end();
    recorder.metric("cost", 0.5);
    outer.end();
    expect(recorder.events).toMatchObject([
      {
        kind: "span",
        name: "llm",
        number: 2,
        start: 110,
        end: 130,
        attributes: { target: "gpt", inputTokens: 12 },
        errors: [{ message: "broke" }],
      },
      { kind: "metric", name: "cost", value: 0.5, at: 130 },
      {
        kind: "span",
        name: "run",
        number: 1,
        start: 100,
        end: 130,
        attributes: { agentId: "lead" },
        errors: [],
      },
    ]);
    expect(recorder.open).toEqual([]);
    expect(recorder.isNoop).toBe(false);
  });

  test("what has not ended is shown as open; ended twice counts once", () => {
    const recorder = new EventRecorder();
    const span = recorder.startSpan("llm", {});
    expect(recorder.open).toEqual(["llm#1"]);
    span.end();
    span.end();
    expect(recorder.events).toHaveLength(1);
  });

  test("the oldest go first, and how many is told", () => {
    const recorder = new EventRecorder({ limit: 3 });
    for (let n = 0; n < 20; n++) {
      recorder.metric("n", n);
      expect(recorder.events.map((event) => (event.kind === "metric" ? event.value : -1))).toEqual(
        [n - 2, n - 1, n].filter((value) => value >= 0),
      );
      expect(recorder.dropped).toBe(Math.max(0, n - 2));
    }
    recorder.clear();
    expect([recorder.events, recorder.dropped]).toEqual([[], 0]);
  });

  test("whoever listens gets each one, and changes nothing by failing", () => {
    const heard: RecordedEvent[] = [];
    const recorder = new EventRecorder({
      onEvent: (event) => {
        heard.push(event);
        throw new Error("a bad listener");
      },
    });
    recorder.startSpan("a", {}).end();
    recorder.metric("b", 1);
    expect(heard).toEqual(recorder.events);
  });

  test("a listener that fails later changes nothing either", async () => {
    const recorder = new EventRecorder({
      onEvent: () => Promise.reject(new Error("the exporter is down")) as never,
    });
    recorder.metric("a", 1);
    // An unhandled rejection would fail this test.
    await new Promise(setImmediate);
    expect(recorder.events).toHaveLength(1);
  });

  test("attributes are copied: what their giver does later is not seen", () => {
    const attributes = { a: 1 };
    const recorder = new EventRecorder();
    const span = recorder.startSpan("x", attributes);
    attributes.a = 2;
    span.end();
    expect(recorder.events).toMatchObject([{ attributes: { a: 1 } }]);
  });

  test("a limit that is none is refused", () => {
    expect(() => new EventRecorder({ limit: 0 })).toThrow("limit");
    expect(() => new EventRecorder({ max: 3 } as never)).toThrow("EventRecorder options.max");
  });
});
