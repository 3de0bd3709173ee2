import { describe, expect, expectTypeOf, test } from "vitest";
import {
  AgentId,
  agentName,
  ExecId,
  InvalidValueError,
  RunId,
  SessionId,
  systemIds,
  TopicId,
} from "@ravi/kernel";

describe("ids", () => {
  test("an agent's id is its name, or a name with a key", () => {
    expect(AgentId("lead")).toBe("lead");
    expect(AgentId("researcher", 2)).toBe("researcher/2");
    expect(agentName(AgentId("researcher", "eu/west"))).toBe("researcher");
    const ids = ["lead", "writer/1", "lead", "lead", "researcher/eu/west", "writer/2"];
    expect(ids.map((id) => agentName(id as AgentId))).toEqual([
      "lead",
      "writer",
      "lead",
      "lead",
      "researcher",
      "writer",
    ]);
    expect(agentName(AgentId("lead"))).toBe("lead");
  });

  test("an execution is named by its place in the tree", () => {
    const run = RunId("r1");
    const root = ExecId(run);
    expect(root).toBe("r1");
    expect(ExecId(ExecId(root, "hire:researcher#1"), "hire:helper#2")).toBe(
      "r1/hire:researcher#1/hire:helper#2",
    );
  });

  test("a topic is a frozen pair", () => {
    const topic = TopicId("agent.progress", "r1");
    expect(topic).toEqual({ type: "agent.progress", source: "r1" });
    expect(Object.isFrozen(topic)).toBe(true);
  });

  test.each(["", "a\u0000b", "a\nb", "\u007f", "\u009b2J", "x".repeat(513), "\ud800", 7, undefined])(
    "%j is refused as an id",
    (bad) => {
      for (const make of [AgentId, RunId, SessionId])
        expect(() => make(bad as string)).toThrow(InvalidValueError);
      expect(() => TopicId("t", bad as string)).toThrow(InvalidValueError);
    },
  );

  test.each(["", "a\nb", 7])("%j is refused as a key of an execution", (bad) => {
    expect(() => ExecId(RunId("r"), bad as string)).toThrow(InvalidValueError);
  });

  test("a name with a slash would look like a key", () => {
    expect(() => AgentId("a/b")).toThrow("a name without '/'");
  });

  test("ids are told apart by their types", () => {
    expectTypeOf<AgentId>().toExtend<string>();
    expectTypeOf<string>().not.toExtend<AgentId>();
    expectTypeOf<RunId>().not.toExtend<SessionId>();
    expectTypeOf(ExecId(RunId("r"))).toEqualTypeOf<ExecId>();
  });

  test("the default source makes ids that differ and numbers in [0, 1)", () => {
    expect(systemIds.uuid()).not.toBe(systemIds.uuid());
    const number = systemIds.random();
    expect(number).toBeGreaterThanOrEqual(0);
    expect(number).toBeLessThan(1);
  });
});
