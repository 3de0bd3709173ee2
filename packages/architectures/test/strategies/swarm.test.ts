import { describe, expect, test } from "vitest";
import { Swarm } from "@ravi/architectures";
import { isCircle, readHandoff } from "../../src/strategies/handoff.ts";
import { asked, run, says, told, usageOf, worker } from "../support.ts";

describe("J10: Swarm", () => {
  test("hands on until one answers, and each sees what happened", async () => {
    const members = {
      desk: worker("desk", [says("HANDOFF expert: explain it")], "Receives."),
      expert: worker("expert", [says("It is simple.")], "Explains."),
    };
    const { result, session, model, events } = await run(new Swarm({ members }), []);
    expect(result).toEqual({ status: "completed", output: "It is simple.", stopReason: "done" });
    expect(asked(members.desk.model.calls[0]?.request)).toContain("- expert: Explains.");
    expect(asked(members.expert.model.calls[0]?.request)).toContain("desk handed over to expert: explain it");
    expect(told(events, "swarm.handoff")).toEqual([
      { from: "desk", to: "expert", known: true, task: "explain it" },
    ]);
    expect(session.cumulativeUsage).toEqual(usageOf(model, members.desk.model, members.expert.model));
    expect(session.metadata["swarm"]).toEqual({ trail: ["desk", "expert"] });
  });

  test("a circle is found, and the last one must answer: partial, loop", async () => {
    const answer = (to: string) => (request: Parameters<typeof asked>[0]) =>
      asked(request).includes("Nobody else") ? "then I say 7" : `HANDOFF ${to}: you do it`;
    const members = { a: worker("a", answer("b")), b: worker("b", answer("a")) };
    const { result, events } = await run(new Swarm({ members }), []);
    expect(result).toEqual({ status: "partial", output: "then I say 7", stopReason: "loop" });
    expect(told(events, "swarm.last")).toEqual([{ because: "loop", trail: ["a", "b", "a", "b"] }]);
  });

  test("8 hand-offs at the most: 1 + 8 + 1 turns", async () => {
    const names = Array.from({ length: 12 }, (_, at) => `m${at}`);
    const members = Object.fromEntries(
      names.map((name, at) => [
        name,
        worker(name, (request) =>
          asked(request).includes("Nobody else") ? "enough" : `HANDOFF m${at + 1}: go on`,
        ),
      ]),
    );
    const { result } = await run(new Swarm({ members }), []);
    expect(result).toEqual({ status: "partial", output: "enough", stopReason: "steps" });
    expect(Object.values(members).reduce((sum, { model }) => sum + model.calls.length, 0)).toBe(1 + 8 + 1);
  });

  test("where nobody may hand on, nobody is offered, and one turn is the whole run", async () => {
    const members = { a: worker("a", ["HANDOFF b: you do it", "HANDOFF b"]), b: worker("b", []) };
    const { result } = await run(new Swarm({ members, maxHandoffs: 0 }), []);
    expect(result).toEqual({ status: "completed", output: "HANDOFF b: you do it", stopReason: "done" });
    expect(members.a.model.calls).toHaveLength(1);
    expect(asked(members.a.model.calls[0]?.request)).not.toContain("colleagues");
  });

  test("who hands on even when nobody is left has not answered", async () => {
    const members = { a: worker("a", () => "HANDOFF a: me again") };
    const { result } = await run(new Swarm({ members }), []);
    expect(result).toMatchObject({ status: "partial", stopReason: "loop" });
    expect(result.output).toContain("a handed over to a");
  });

  test("a colleague whom nobody knows is not found: it is told so and goes on itself", async () => {
    const members = { a: worker("a", ["HANDOFF zoe: help", "fine, 3"]), b: worker("b", []) };
    const { result } = await run(new Swarm({ members }), []);
    expect(result).toEqual({ status: "completed", output: "fine, 3", stopReason: "done" });
    expect(asked(members.a.model.calls[1]?.request)).toContain("There is nobody called zoe.");
  });

  test("a member who fails is the run's failure, and one who was cut off never a success", async () => {
    const gone = new Swarm({ members: { a: worker("a", () => new Error("gone")) } });
    await expect(run(gone, [])).rejects.toThrow("gone");
    const cut = new Swarm({ members: { a: worker("a", [{ text: "HANDOFF b", finishReason: "length" }]) } });
    expect((await run(cut, [])).result).toEqual({
      status: "partial",
      output: "HANDOFF b",
      stopReason: "length",
    });
  });

  test.each([
    [["a", "b", "a"], false],
    [["a", "b", "a", "b"], true],
    [["a", "a"], true],
    [["x", "a", "b", "c", "a", "b", "c"], true],
    [["a", "b", "c", "a", "c", "b"], false],
  ])("%j is a circle: %s", (trail, expected) => {
    expect(isCircle(trail)).toBe(expected);
  });

  test.each([
    ["HANDOFF expert: explain it", { to: "expert", task: "explain it" }],
    ["I cannot do it.\n**Handoff to expert** - explain it", { to: "expert", task: "explain it" }],
    ['```json\n{"handoff": "expert", "task": "explain it"}\n```', { to: "expert", task: "explain it" }],
    ["hand-off: `expert`", { to: "expert", task: "" }],
    ["The handoff of the keys is at noon.", undefined],
    ["Hand off the keys at the desk. That is all.", undefined],
    ["Handoff complete.\nYour money is on its way.", undefined],
    ['{"answer": "42", "handoff": ""}', undefined],
    ['{"answer": "42", "handoff": "none"}', undefined],
    [
      "HANDOFF expert: check these\n- invoice 17\n- invoice 18",
      { to: "expert", task: "check these\n- invoice 17\n- invoice 18" },
    ],
    [
      "I am no expert.\nHANDOFF expert: check these\n\n1. invoice 17\n2. invoice 18",
      { to: "expert", task: "check these\n1. invoice 17\n2. invoice 18" },
    ],
    ["HANDOFF expert\nLook at invoice 17.", { to: "expert", task: "Look at invoice 17." }],
    ["HANDOFF expert:\n\nLook at it.\nThen tell.", { to: "expert", task: "Look at it.\nThen tell." }],
    ["HANDOFF stranger: check\n- this", { to: "stranger", task: "check\n- this" }],
    ["```\nHANDOFF expert: explain it\n```", { to: "expert", task: "explain it" }],
    [
      "Here is the protocol.\nHandoff Expert was the manager of the project in 2020.\nThe answer is 42.",
      undefined,
    ],
    ["Handoff Expert was the manager of the project in 2020.", undefined],
    ["Of old:\nHandoff expert: it was said.\nThe answer is 42.", undefined],
    ["The protocol is:\n- handoff expert: the keys\n- sign", undefined],
    ["I cannot do it.\n- HANDOFF expert: explain it", { to: "expert", task: "explain it" }],
    ["HANDOFF data-cleaner", { to: "data-cleaner", task: "" }],
    ["HANDOFF stranger: help", { to: "stranger", task: "help" }],
    ["HANDOFF data analyst: count them", { to: "data analyst", task: "count them" }],
    ["HANDOFF Data: count them", { to: "data", task: "count them" }],
    ["HANDOFF [expert]: explain it", { to: "expert", task: "explain it" }],
    ["HANDOFF <expert>: explain it", { to: "expert", task: "explain it" }],
    ["HANDOFF @expert: explain it", { to: "expert", task: "explain it" }],
  ])("%j is read as %j", (text, expected) => {
    expect(readHandoff(text, ["expert", "data", "data analyst"])).toEqual(expected);
  });
});
