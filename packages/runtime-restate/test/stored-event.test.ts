import { expect, test } from "vitest";
import { AgentId, ExecId, type RunEvent, RunId } from "@ravi/kernel";
import { storedEvent } from "../src/execution/stored-event.ts";
import { keep } from "../src/topic/log.ts";

const MIB = 1024 * 1024;

test("J3: an event that the server could not carry is told as one that is too large, by its kind and size", () => {
  const data = "é".repeat(4 * MIB);
  const { event, problem } = storedEvent({ type: "progress", name: "scan", data });
  const bytes = 8 * MIB + '{"type":"progress","name":"scan","data":""}'.length;
  expect(event).toEqual({ type: "progress", name: "eventTooLarge", data: { type: "progress", bytes } });
  expect(problem).toMatch(`the event progress scan has ${bytes} bytes as JSON`);
  const whole = { type: "progress", name: "scan", data: "x".repeat(7 * MIB) } as const;
  expect(storedEvent(whole)).toEqual({ event: whole });
});

test("J3: a large event is kept by itself, and only its place in the list", () => {
  const event = (delta: string): RunEvent => ({
    seq: 3,
    at: 0,
    agentId: AgentId("a"),
    execId: ExecId(RunId("r")),
    event: { type: "text", delta },
  });
  expect(keep(event("small"))).toEqual(event("small"));
  expect(keep(event("x".repeat(70_000)))).toEqual({ seq: 3, bytes: expect.any(Number) });
});
