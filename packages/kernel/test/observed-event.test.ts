import { expect, test } from "vitest";
import type { AgentEvent, AgentResult } from "@ravi/kernel";
import { observedEvent } from "@ravi/kernel/loop";

test("T8: of a result of a class observers get what its getters say, and what it holds is copied", () => {
  const list = [1];
  class Result implements AgentResult {
    readonly stopReason = "done";
    get status(): "completed" {
      return "completed";
    }
    get output(): string {
      return "four";
    }
    get structured(): object {
      return { list, at };
    }
  }
  const at = new Date(0);
  const told = observedEvent({ type: "completed", result: new Result() });
  expect(told).toEqual({
    type: "completed",
    result: { status: "completed", output: "four", stopReason: "done", structured: { list: [1], at } },
  });
  const { structured } = (told as Extract<AgentEvent, { type: "completed" }>).result;
  expect(Reflect.get(structured as object, "list")).not.toBe(list);
  expect(Reflect.get(structured as object, "at")).toBe(at);
});

test("T11: data that leads back to itself, twice on each level, and data of any depth are told all the same", () => {
  const told = (structured: unknown): unknown => {
    const result: AgentResult = { status: "completed", output: "", stopReason: "done", structured };
    const event = observedEvent({ type: "completed", result });
    return event.type === "completed" ? event.result.structured : undefined;
  };
  const twice: Record<string, unknown> = { name: "loop" };
  Object.assign(twice, { left: twice, right: [twice] });
  const copy = told(twice);
  expect(copy).not.toBe(twice);
  expect(Reflect.get(copy as object, "left")).toBe(copy);
  let deep: unknown = "end";
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  expect(told(deep)).toHaveLength(1);
  const named: unknown = JSON.parse('{"__proto__":{"a":1}}');
  expect(JSON.stringify(told(named))).toBe('{"__proto__":{"a":1}}');
});

test("an event of texts and numbers alone is told as it is", () => {
  const event: AgentEvent = { type: "text", delta: "a" };
  expect(observedEvent(event)).toBe(event);
});
