import { describe, expect, test } from "vitest";
import { type Agent, AgentId, BudgetExhaustedError } from "@ravi/kernel";
import { ReWOO } from "@ravi/architectures";
import { levelsOf } from "../../src/strategies/levels.ts";
import { add, asked, broke, lookUp, run, says, told, usageOf, worker } from "../support.ts";
import { delegateTo } from "@ravi/kernel/loop";

const plan = (steps: readonly (readonly [string, string, unknown])[]): string =>
  JSON.stringify({ steps: steps.map(([id, tool, input]) => ({ id, tool, input })) });
const tools = [lookUp, add];

describe("J10: ReWOO", () => {
  test("plans once, runs levels at once with the results filled in, and answers: two model calls", async () => {
    const script = [
      plan([
        ["E1", "look_up", { query: "Oslo" }],
        ["E2", "look_up", { query: "Bern" }],
        ["E3", "look_up", { query: "#E1 and #E2" }],
      ]),
      "done",
    ];
    const { result, model, events } = await run(new ReWOO(), script, { tools });
    expect(result).toEqual({ status: "completed", output: "done", stopReason: "done" });
    expect(model.calls).toHaveLength(2);
    expect(told(events, "rewoo.plan")).toEqual([{ levels: [["E1", "E2"], ["E3"]], stuck: {}, left: 0 }]);
    expect(asked(model.calls[1]?.request)).toContain("facts about facts about Oslo and facts about Bern");
    expect(events.filter(({ type }) => type === "toolResult")).toHaveLength(3);
  });

  test("whoever plans is shown what each tool takes: it writes the inputs without being offered the tools", async () => {
    const helper = delegateTo(worker("helper", []));
    const { model } = await run(new ReWOO(), ["no plan", "answer"], { tools: [add, helper] });
    const shown = asked(model.calls[0]?.request);
    expect(shown).toMatch(
      /^- add: Adds two numbers\.\n  input: \{.*"a":\{"type":"number"\}.*"required":\["a","b"\]/m,
    );
    expect(shown).toMatch(/^- helper: .* \(another agent\)\n  input: .*"task"/m);
    expect(model.calls[0]?.request.tools).toBeUndefined();
  });

  test("makes 1 + 8 + 1 model calls at the most: when every step is thinking", async () => {
    const steps = Array.from({ length: 11 }, (_, at) => [`E${at + 1}`, "LLM", `think ${at}`] as const);
    const { result, model, session, events } = await run(new ReWOO(), (request) =>
      says(asked(request).includes("Make the whole plan") ? plan(steps) : "thought"),
    );
    expect(result).toEqual({ status: "partial", output: "thought", stopReason: "steps" });
    expect(model.calls).toHaveLength(1 + 8 + 1);
    expect(told(events, "rewoo.plan")).toMatchObject([{ left: 3 }]);
    expect(asked(model.calls.at(-1)?.request)).toContain(
      '#E11 (LLM "think 10"): error: not run: the plan was',
    );
    expect(session.cumulativeUsage).toEqual(usageOf(model));
  });

  test("of a plan that was cut off by its length the last step is not made, and the answer is a part", async () => {
    const text = "#E1 = look_up[Oslo]\n#E2 = look_up[Bern]";
    const { result, events } = await run(new ReWOO(), [{ text, finishReason: "length" }, "Oslo"], { tools });
    expect(told(events, "rewoo.plan")).toEqual([{ levels: [["E1"]], stuck: {}, left: 0 }]);
    expect(result).toEqual({ status: "partial", output: "Oslo", stopReason: "length" });
  });

  test("of a plan that was cut off in the middle of a line all whole steps are made: the half one is none", async () => {
    const text = "#E1 = look_up[Oslo]\n#E2 = look_up[Ber";
    const { result, events } = await run(new ReWOO(), [{ text, finishReason: "length" }, "Oslo"], { tools });
    expect(told(events, "rewoo.plan")).toEqual([{ levels: [["E1"]], stuck: {}, left: 0 }]);
    expect(told(events, "rewoo.unreadable")).toEqual([]);
    expect(result).toEqual({ status: "partial", output: "Oslo", stopReason: "length" });
  });

  test("T11: a delegate that hires nobody is a step that failed, and the plan goes on", async () => {
    const nobody = (): never => undefined as never;
    const odd = { ...delegateTo(worker("odd", [])), hire: nobody };
    const script = ["#E1 = odd[Oslo]\n#E2 = look_up[Bern]", "Bern"];
    const { result, model } = await run(new ReWOO(), script, { tools: [...tools, odd] });
    expect(result.status).toBe("completed");
    expect(asked(model.calls[1]?.request)).toContain("error: odd.hire(args) is undefined");
  });

  test("a number that one step has found is a number for the next, and a text where that takes texts", async () => {
    const script = ['#E1 = add[{"a": 1, "b": 2}]\n#E2 = add[{"a": "#E1", "b": 4}]\n#E3 = look_up[#E2]', "7"];
    const { result, model } = await run(new ReWOO(), script, { tools });
    expect(asked(model.calls[1]?.request)).toContain("facts about 7");
    expect(result.status).toBe("completed");
  });

  test("an agent that says nothing has found nothing", async () => {
    const silent = delegateTo(worker("silent", ["", ""]));
    const { result, model } = await run(new ReWOO(), ["#E1 = silent[who?]", "a guess"], { tools: [silent] });
    expect(asked(model.calls[1]?.request)).toContain("error: no answer (steps)");
    expect(result).toEqual({ status: "partial", output: "a guess", stopReason: "steps" });
  });

  test("a cycle is found and named; what does not depend on it runs", async () => {
    const script = [
      plan([
        ["E1", "look_up", { query: "#E2" }],
        ["E2", "look_up", { query: "#E1" }],
        ["E3", "look_up", { query: "Oslo" }],
        ["E4", "look_up", { query: "#E9" }],
        ["E5", "look_up", { query: "#E1" }],
      ]),
      "answer",
    ];
    const { result, model } = await run(new ReWOO(), script, { tools });
    expect(result.status).toBe("completed");
    const evidence = asked(model.calls[1]?.request);
    expect(evidence).toContain("not run: it depends on itself (#E1 → #E2 → #E1)");
    expect(evidence).toContain("not run: there is no step #E9");
    expect(evidence).toContain("not run: it depends on a step that can never run");
    expect(evidence).toContain("facts about Oslo");
  });

  test("a step that fails takes those with it that need it, and no others", async () => {
    const script = [
      plan([
        ["E1", "look_up", { query: "nothing" }],
        ["E2", "look_up", { query: "#E1" }],
        ["E3", "unknown", {}],
        ["E4", "add", { a: "x" }],
        ["E5", "add", { a: 1, b: 2 }],
      ]),
      "answer",
    ];
    const { model } = await run(new ReWOO(), script, { tools });
    const evidence = asked(model.calls[1]?.request);
    expect(evidence).toContain("error: not found");
    expect(evidence).toContain("not run: it needs #E1, which failed");
    expect(evidence).toContain('unknown tool "unknown"; available tools: look_up, add, LLM');
    expect(evidence).toContain("invalid arguments for add");
    expect(evidence).toMatch(/#E5 .*: 3$/m);
  });

  test("the plan may be in the words of the paper, and a lone text goes to the only parameter", async () => {
    const { model } = await run(
      new ReWOO(),
      ["Plan: find it.\n#E1 = look_up[weather in Oslo]\n#E2 = LLM[Is #E1 good?]", "yes", "answer"],
      { tools },
    );
    expect(asked(model.calls[1]?.request)).toContain("Is facts about weather in Oslo good?");
  });

  test.each(['look_up["Oslo"]', 'look_up[{"query": "Oslo"}]'])(
    "%s is a step, whatever is in its brackets",
    async (step) => {
      const { result, model } = await run(new ReWOO(), [`Plan: find it [1].\n#E1 = ${step}`, "sunny"], {
        tools,
      });
      expect(asked(model.calls[1]?.request)).toContain("facts about Oslo");
      expect(result).toEqual({ status: "completed", output: "sunny", stopReason: "done" });
    },
  );

  test("no plan to be read: told, and answered without evidence, which is no success", async () => {
    const { result, events, model } = await run(new ReWOO(), ["I would just answer.", "the answer"], {
      tools,
    });
    expect(result).toEqual({ status: "partial", output: "the answer", stopReason: "steps" });
    expect(told(events, "rewoo.unreadable")).toHaveLength(1);
    expect(asked(model.calls[1]?.request)).toContain("(none)");
  });

  test("an answer for which no step has found anything is no success", async () => {
    const steps = [
      ["E1", "look_up", { query: "nothing" }],
      ["E2", "look_up", { query: "#E1" }],
      ["E3", "look_up", { query: "#E3" }],
    ] as const;
    const { result } = await run(new ReWOO(), [plan(steps), "I made it up"], { tools });
    expect(result).toEqual({ status: "partial", output: "I made it up", stopReason: "steps" });
  });

  test("an agent among the tools is hired", async () => {
    const helper = worker("helper", [says("found it")]);
    const { model, session } = await run(
      new ReWOO(),
      [says(plan([["E1", "helper", "find it"]])), says("answer")],
      {
        tools: [delegateTo(helper)],
      },
    );
    expect(asked(model.calls[1]?.request)).toContain("found it");
    expect(session.cumulativeUsage).toEqual(usageOf(model, helper.model));
  });

  test("an agent among the tools that has reached a limit of its own has failed, and the run goes on without it", async () => {
    const error = new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "helper" });
    const helper: Agent = {
      id: AgentId("helper"),
      run: async () => {
        throw error;
      },
    };
    const steps = plan([
      ["E1", "helper", "find it"],
      ["E2", "look_up", { query: "Oslo" }],
    ]);
    const { result, model } = await run(new ReWOO(), [steps, "answer"], {
      tools: [delegateTo(helper), lookUp],
    });
    expect(result).toEqual({ status: "completed", output: "answer", stopReason: "done" });
    expect(asked(model.calls[1]?.request)).toMatch(/#E1 .*no answer: .*turns.*\n#E2 .*facts about Oslo/);
  });

  test("levels: a step runs as soon as all that it needs is there", () => {
    const { levels, stuck } = levelsOf([
      { id: "E1", tool: "t", input: "#E3" },
      { id: "E2", tool: "t", input: "" },
      { id: "E3", tool: "t", input: { deep: ["#E2"] } },
      { id: "E10", tool: "t", input: "#e2" },
    ]);
    expect(levels.map((level) => level.map(({ id }) => id))).toEqual([["E2"], ["E3", "E10"], ["E1"]]);
    expect(stuck.size).toBe(0);
  });

  test.each([
    [0, "landed from: the task"],
    [1, 'landed from: What was found so far:\n\n#E1 (look_up {"query":"Oslo"}): facts about Oslo'],
  ])("when the money ends after %i calls, the last turn answers from the evidence", async (after, output) => {
    const { result } = await run(
      new ReWOO(),
      broke(() => plan([["E1", "look_up", { query: "Oslo" }]]), after),
      { tools },
    );
    expect(result).toEqual({ status: "partial", output, stopReason: "budget" });
  });
});
