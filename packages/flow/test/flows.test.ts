import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentResult,
  BudgetExhaustedError,
  CancellationError,
  DeadlineExceededError,
  type StopReason,
  SuspendedError,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ConditionalFlow, ParallelFlow, SequentialFlow } from "@ravi/flow";
import { virtualClock } from "@ravi/testing";
import { agent, done, fails, listening, partial, run, says } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 300;

describe("R25: a step with an input of its own", () => {
  const echo = agent("echo", async (_, { input }) => done(`<${input}>`));

  test("one agent works on many items, and each has its result in their order", async () => {
    const items = ["a", "b", "c"];
    const branches = items.map((item) => ({ agent: echo, name: `of ${item}`, input: item }));
    const { result } = await run(new ParallelFlow({ name: "batch", branches }), "not asked");
    expect(result).toMatchObject({
      status: "completed",
      structured: items.map((item) => ({ name: `of ${item}`, output: `<${item}>` })),
    });
  });

  test("a function gets what the flow would ask", async () => {
    const twice = { agent: echo, name: "twice", input: (given: string) => `${given} ${given}` };
    const steps = {
      accumulate: (input: string, [first]: readonly { output: string }[]) => first?.output ?? input,
    };
    const flow = new SequentialFlow({
      name: "f",
      steps: [twice, { agent: echo, input: "" }, twice],
      ...steps,
    });
    expect((await run(flow, "x")).result).toMatchObject({
      output: "<<x x> <x x>>",
      structured: [{ output: "<x x>" }, { output: "<>" }, { output: "<<x x> <x x>>" }],
    });
    const chosen = new ConditionalFlow({ name: "c", if: () => true, whenTrue: twice });
    expect((await run(chosen, "y")).result.output).toBe("<y y>");
  });

  test("is refused by name if it is no text", async () => {
    const wrong = { agent: echo, input: 7 as never };
    expect(() => new ParallelFlow({ name: "f", branches: [wrong] })).toThrow(
      /ParallelFlow\.branches\[0\]\.input.*7.*a string or a function/,
    );
    const later = { agent: echo, input: () => undefined as never };
    const flow = new SequentialFlow({ name: "f", steps: [later] });
    await expect(run(flow)).rejects.toThrow(/SequentialFlow\.steps\[0\]\.input\(given\).*a string/);
  });
});

describe("R25: a sequential flow", () => {
  test("gives each step the input and all that was done before it; the last answer is the flow's", async () => {
    const inputs: string[] = [];
    const step = (name: string) =>
      agent(name, async (_, { input }) => {
        inputs.push(input);
        return done(`${name}'s answer`);
      });
    const flow = new SequentialFlow({ name: "f", steps: [step("draft"), step("review"), step("edit")] });
    const { result } = await run(flow, "Write.");
    expect(inputs).toEqual([
      "Write.",
      "Write.\n\n## draft\n\ndraft's answer",
      "Write.\n\n## draft\n\ndraft's answer\n\n## review\n\nreview's answer",
    ]);
    expect(result).toEqual({
      status: "completed",
      output: "edit's answer",
      stopReason: "done",
      structured: ["draft", "review", "edit"].map((name) => ({
        name,
        status: "completed",
        output: `${name}'s answer`,
      })),
    });
  });

  test("may accumulate in a way of its own", async () => {
    const echo = agent("echo", async (_, { input }) => done(`<${input}>`));
    const flow = new SequentialFlow({
      name: "f",
      steps: [echo, { agent: echo, name: "again" }],
      accumulate: (input, before) => before.at(-1)?.output ?? input,
    });
    expect((await run(flow, "x")).result.output).toBe("<<x>>");
  });

  test("says what was wrong with the answer of the step that it ended at", async () => {
    const vague = says("b", { ...partial("{}", "invalid"), problem: "sum: expected a number" });
    const { result } = await run(new SequentialFlow({ name: "f", steps: [says("a", "whole"), vague] }));
    expect(result).toMatchObject({ stopReason: "invalid", problem: "sum: expected a number" });
  });

  test.each<[string, Agent, AgentResult["stopReason"]]>([
    ["partial", says("b", partial("half", "length")), "length"],
    ["paused", says("b", { status: "paused", output: "half", stopReason: "paused" }), "paused"],
    ["failed", fails("b"), "failed"],
  ])("ends at a step that is %s, and is partial itself", async (_, middle, stopReason) => {
    let later = 0;
    const last = agent("c", async () => {
      later++;
      return done("never");
    });
    const { result } = await run(
      new SequentialFlow({ name: "f", steps: [says("a", "whole"), middle, last] }),
    );
    expect(result).toMatchObject({ status: "partial", stopReason });
    expect(result.output).toBe(stopReason === "failed" ? "whole" : "half");
    expect(result.structured).toHaveLength(2);
    expect(later).toBe(0);
  });

  test("the last answer is the flow's, also an empty one: a redactor that removes everything has the last word", async () => {
    const flow = new SequentialFlow({ name: "f", steps: [says("read", "SECRET 123"), says("redact", "")] });
    expect((await run(flow)).result).toMatchObject({ status: "completed", output: "", stopReason: "done" });
  });

  test("fails with its first step: nothing came of it", async () => {
    await expect(
      run(new SequentialFlow({ name: "f", steps: [fails("a", "no"), says("b", "x")] })),
    ).rejects.toThrow("a failed: no");
  });
});

describe("R25: a parallel flow", () => {
  const flow = (combine: ConstructorParameters<typeof ParallelFlow>[0]["combine"], ...branches: Agent[]) =>
    new ParallelFlow({ name: "f", branches, combine });

  test("runs all branches at once, with the same input", async () => {
    const both = Promise.withResolvers<void>();
    let here = 0;
    const waits = agent("w", async (_, { input }) => {
      if (++here === 2) both.resolve();
      await both.promise;
      return done(input);
    });
    expect((await run(flow("concat", waits, waits), "x")).result.output).toBe("## w\n\nx\n\n## w\n\nx");
  });

  test("concat puts each under its name, in the order of the branches", async () => {
    const slow = agent("slow", async (ctx) => {
      await Promise.resolve();
      await ctx.now();
      return done("1");
    });
    const { result } = await run(flow(undefined, slow, says("fast", "2")));
    expect(result.output).toBe("## slow\n\n1\n\n## fast\n\n2");
  });

  test.each([
    ["the most votes win", ["no", "yes", "yes"], "yes"],
    ["who says nothing has not voted", ["", " ", "yes"], "yes"],
    ["a tie falls to the first branch", ["no", "yes", "yes", "no"], "no"],
    ["all different: the first", ["c", "a", "b"], "c"],
    ["space around an answer does not count", ["no", " yes\n", "yes"], "yes"],
  ])("vote: %s", async (_, answers, winner) => {
    const branches = answers.map((answer, at) => says(`b${at}`, answer));
    expect((await run(flow("vote", ...branches))).result.output).toBe(winner);
  });

  test("vote: the winner has the most votes, and no earlier branch's answer has as many", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 9 }),
        async (answers) => {
          const { result } = await run(flow("vote", ...answers.map((answer, at) => says(`b${at}`, answer))));
          const votes = (answer: string): number => answers.filter((other) => other === answer).length;
          const best = Math.max(...answers.map(votes));
          expect(result.output).toBe(answers.find((answer) => votes(answer) === best));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("a reducer of one's own gets every result", async () => {
    const sum = (results: readonly { readonly output: string }[]): string =>
      String(results.reduce((total, { output }) => total + Number(output), 0));
    expect((await run(flow(sum, says("a", "2"), says("b", "3")))).result.output).toBe("5");
  });

  test("where no branch has an output there is nothing to reduce: the flow is partial, and empty", async () => {
    const never = (): string => expect.fail("there is nothing to reduce");
    const { result } = await run(flow(never, says("a", partial("")), fails("b")));
    expect(result).toMatchObject({ status: "partial", output: "", stopReason: "budget" });
    const { result: concat } = await run(flow("concat", says("a", partial("")), fails("b")));
    expect(concat.output).toBe("");
  });

  test("a reducer that gives no text is an error that names it", async () => {
    const count = (results: readonly unknown[]): string => results.length as never;
    await expect(run(flow(count, says("a", "2")))).rejects.toThrow(
      "ParallelFlow.combine(results) is 1; expected a string",
    );
  });

  test("with a branch that is not complete it is partial, and says of which branch what is missing", async () => {
    const { result } = await run(
      flow("concat", says("a", "whole"), says("b", partial("half")), fails("c", "no")),
    );
    expect(result).toMatchObject({ status: "partial", stopReason: "budget" });
    expect(result.output).toBe(
      "## a\n\nwhole\n\n## b\n\n(partial: budget)\n\nhalf\n\n## c\n\n(failed: c failed: no)",
    );
    expect(result.structured?.map(({ status }) => status)).toEqual(["completed", "partial", "failed"]);
  });

  test("of an answer that did not match its schema it says what was wrong with it", async () => {
    const problem = "amount is missing; expected a number";
    const { result } = await run(
      flow("concat", says("a", "whole"), says("b", { ...partial("{}", "invalid"), problem })),
    );
    expect(result.structured).toEqual([
      { name: "a", status: "completed", output: "whole" },
      { name: "b", status: "partial", output: "{}", reason: "invalid", problem },
    ]);
  });

  test("who has not finished has no vote", async () => {
    const { result } = await run(
      flow("vote", says("a", partial("half")), says("b", partial("half")), says("c", "whole")),
    );
    expect(result).toMatchObject({ status: "partial", output: "whole" });
  });

  test("where all of them failed it fails with the first failure", async () => {
    await expect(run(flow("concat", fails("a", "first"), fails("b", "second")))).rejects.toThrow("first");
  });

  test("whatever becomes of its branches, it is complete only when each of them is", async () => {
    const fate = fc.constantFrom("completed", "partial", "paused", "failed");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 5 }),
        fc.constantFrom("concat", "vote"),
        async (fates, combine) => {
          const branches = fates.map((kind, at) => {
            if (kind === "failed") return fails(`b${at}`);
            if (kind === "completed") return says(`b${at}`, "x");
            return says(`b${at}`, { status: kind as "partial", output: "half", stopReason: "budget" });
          });
          const status = await run(flow(combine as "concat", ...branches)).then(
            ({ result }) => result.status,
            () => "failed",
          );
          const isAll = (kind: string): boolean => fates.every((other) => other === kind);
          expect(status).toBe(isAll("completed") ? "completed" : isAll("failed") ? "failed" : "partial");
        },
      ),
      { numRuns: RUNS },
    );
  });
});

describe("R25: a conditional flow", () => {
  const [yes, no] = [says("yes", "took yes"), says("no", "took no")];
  const flow = (predicate: ConstructorParameters<typeof ConditionalFlow>[0]["if"]) =>
    new ConditionalFlow({ name: "f", if: predicate, whenTrue: yes, otherwise: no });

  test.each([
    ["true", () => true, "took yes"],
    ["false", () => false, "took no"],
    ["a promise", async (input: string) => input === "go", "took yes"],
  ])("takes a branch: %s", async (_, predicate, output) => {
    expect((await run(flow(predicate))).result).toMatchObject({ status: "completed", output });
  });

  test("a predicate that throws takes the else branch, and it is told", async () => {
    const { result, events } = await run(
      flow(() => {
        throw new TypeError("no idea");
      }),
    );
    expect(result.output).toBe("took no");
    expect(events).toContainEqual({
      type: "progress",
      name: "predicateFailed",
      data: { message: "no idea" },
    });
  });

  test.each([
    ["cancelled", new CancellationError({ reason: "user" })],
    ["out of money", new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "f" })],
  ])("but a run that is %s takes no branch at all", async (_, error) => {
    await expect(
      run(
        flow(() => {
          throw error;
        }),
      ),
    ).rejects.toBe(error);
  });

  test.each(["no", 0, undefined])(
    "a predicate that answers %j, neither true nor false, is refused and takes no branch",
    async (answer) => {
      await expect(run(flow(() => answer as never))).rejects.toThrow(/ConditionalFlow\.if\(input, ctx\) is /);
    },
  );

  test("without an else branch it gives its input back", async () => {
    const only = new ConditionalFlow({ name: "f", if: () => false, whenTrue: yes });
    expect((await run(only, "as it was")).result).toMatchObject({ status: "completed", output: "as it was" });
  });

  test("a branch that was cut off leaves it partial; one that failed fails it", async () => {
    const cut = new ConditionalFlow({
      name: "f",
      if: () => true,
      whenTrue: says("a", partial("half", "deadline")),
    });
    expect((await run(cut)).result).toMatchObject({
      status: "partial",
      output: "half",
      stopReason: "deadline",
    });
    const broken = new ConditionalFlow({ name: "f", if: () => true, whenTrue: fails("a", "no") });
    await expect(run(broken)).rejects.toThrow("a failed: no");
  });
});

test("R25: flows are agents and nest", async () => {
  const flow = new SequentialFlow({
    name: "outer",
    steps: [
      new ParallelFlow({
        name: "votes",
        branches: [says("a", "7"), says("b", "7"), says("c", "8")],
        combine: "vote",
      }),
      new ConditionalFlow({
        name: "check",
        if: (input) => input.endsWith("7"),
        whenTrue: says("fine", "it is seven"),
        otherwise: says("odd", "it is not"),
      }),
    ],
  });
  const { result, events } = await run(flow);
  expect(result).toMatchObject({ status: "completed", output: "it is seven" });
  expect(events).toEqual([]);
});

test("a flow whose only branch was cancelled alone has failed, and is not taken for cancelled", async () => {
  const cancelled = agent("a", () => Promise.reject(new CancellationError({ reason: "enough" })));
  const flow = new SequentialFlow({ name: "f", steps: [cancelled] });
  await expect(run(flow)).rejects.toMatchObject({ code: "TOOL_ERROR", cause: { code: "CANCELLED" } });
  const ctx = bareContext();
  ctx.meta.cancellation.cancel("all of it");
  await expect(flow.run(ctx, ctx.inbox("go"))).rejects.toMatchObject({ code: "CANCELLED" });
});

const a = says("a", "x");
test.each([
  ["sequential", new SequentialFlow({ name: "f", steps: [a] })],
  ["parallel", new ParallelFlow({ name: "f", branches: [a, a] })],
  ["conditional", new ConditionalFlow({ name: "f", if: () => true, whenTrue: a })],
])("a %s flow is not complete in a context that gives a hire no outcome", async (_, flow) => {
  const ctx = bareContext();
  ctx.batch = async () => [] as never;
  await expect(flow.run(ctx, ctx.inbox("go"))).rejects.toThrow(
    "the context has no outcome for the hire of a",
  );
});

describe("R21: FLOW hooks", () => {
  test("tell its beginning and its end, with how long it took and how it ended", async () => {
    const clock = virtualClock({ now: 1_000 });
    const { hooks, heard } = listening();
    const slow = agent("a", async (ctx) => {
      await ctx.sleepUntil(3_000);
      return partial("half");
    });
    const running = run(new ParallelFlow({ name: "f", branches: [slow, slow] }), "go", { hooks, clock });
    await clock.advance(2_000);
    const { ctx } = await running;
    const base = { agentName: "f", agentId: "f", runId: ctx.meta.runId, execId: ctx.execId };
    expect(heard).toMatchObject([
      ["flow_start", { ...base, flow: "f", branches: 2, at: 1_000 }],
      ["flow_end", { ...base, flow: "f", status: "partial", durationMs: 2_000, at: 3_000 }],
    ]);
  });

  test.each<[string, Parameters<typeof run>[0], number]>([
    [
      "a sequence",
      new SequentialFlow({ name: "f", steps: [says("a", "1"), says("b", "2"), says("c", "3")] }),
      3,
    ],
    ["parallel branches", new ParallelFlow({ name: "f", branches: [says("a", "1"), says("b", "2")] }), 2],
    ["one condition", new ConditionalFlow({ name: "f", if: () => true, whenTrue: says("a", "1") }), 1],
    [
      "two conditions",
      new ConditionalFlow({ name: "f", if: () => true, whenTrue: says("a", "1"), otherwise: says("b", "2") }),
      2,
    ],
  ])("the beginning of %s tells how many branches it has", async (_, flow, branches) => {
    const { hooks, heard } = listening();
    await run(flow, "go", { hooks });
    expect(heard[0]).toMatchObject(["flow_start", { flow: "f", branches }]);
  });

  test("a flow whose run is suspended has not ended", async () => {
    const { hooks, heard } = listening();
    const suspended = new SuspendedError({ reason: "closed" });
    const flow = new SequentialFlow({
      name: "f",
      steps: [
        agent("a", async () => {
          throw suspended;
        }),
      ],
    });
    await expect(run(flow, "go", { hooks })).rejects.toBe(suspended);
    expect(heard.map(([event]) => event)).toEqual(["flow_start"]);
  });

  test("also where it failed", async () => {
    const { hooks, heard } = listening();
    await expect(
      run(new SequentialFlow({ name: "f", steps: [fails("a")] }), "go", { hooks }),
    ).rejects.toThrow("oops");
    expect(heard.at(-1)).toMatchObject(["flow_end", { status: "failed" }]);
  });

  test.each([
    new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "f" }),
    new DeadlineExceededError({ deadline: 1 }),
  ])("a flow that was cut off by $code is told as partial, as its run is", async (error) => {
    const { hooks, heard } = listening();
    const cut = agent("a", async () => {
      throw error;
    });
    await expect(run(new SequentialFlow({ name: "f", steps: [cut] }), "go", { hooks })).rejects.toBe(error);
    expect(heard.at(-1)).toMatchObject(["flow_end", { status: "partial" }]);
  });
});

describe("R25: what a flow says of itself", () => {
  const [x, y] = [says("x", "x"), says("y", "y")];
  test.each([
    [new SequentialFlow({ name: "f", steps: [x, y, x] }), 3],
    [new ParallelFlow({ name: "f", branches: [x, y] }), 2],
    [new ConditionalFlow({ name: "f", if: () => true, whenTrue: x, otherwise: y }), 2],
    [new ConditionalFlow({ name: "f", if: () => true, whenTrue: x }), 1],
  ])("its branches when it starts, and that it is completed: %#", async (flow, branches) => {
    const { hooks, heard } = listening();
    await run(flow, "go", { hooks });
    const own = heard.filter(([event]) => event.startsWith("flow_"));
    expect(own).toMatchObject([
      ["flow_start", { flow: "f", branches }],
      ["flow_end", { flow: "f", status: "completed" }],
    ]);
  });

  test("a parallel flow whose branches all have nothing to say is completed", async () => {
    const { result } = await run(new ParallelFlow({ name: "f", branches: [says("a", ""), says("b", "")] }));
    expect(result).toMatchObject({ status: "completed", stopReason: "done" });
  });

  test("results may be combined by somebody who takes a while", async () => {
    const combine = async (results: readonly { readonly output: string }[]): Promise<string> =>
      results.map(({ output }) => output).join(" and ");
    const { result } = await run(new ParallelFlow({ name: "f", branches: [x, y], combine }));
    expect(result.output).toBe("x and y");
  });

  test.each<[StopReason, Error]>([
    ["deadline", new DeadlineExceededError({ deadline: 5 })],
    ["budget", new BudgetExhaustedError({ dimension: "turns", used: 1, limit: 1, scope: "b" })],
    ["failed", new TypeError("oops")],
  ])(
    "a branch that ends with an error of that kind makes it one that was cut off: %s",
    async (why, error) => {
      const stopped = agent("stopped", async () => {
        throw error;
      });
      const { result } = await run(new ParallelFlow({ name: "f", branches: [x, stopped] }));
      expect(result).toMatchObject({ status: "partial", stopReason: why });
    },
  );
});

test("R25: what a function of one's own does with the list of results changes no result", async () => {
  const steps = [says("a", "1"), says("b", "2")];
  // As somebody without a compiler would write it.
  const take = (results: readonly object[]): string => `${(results as object[]).splice(0).length} taken`;
  for (const flow of [
    new ParallelFlow({ name: "f", branches: steps, combine: take }),
    new SequentialFlow({ name: "f", steps, accumulate: (_, before) => take(before) }),
  ])
    expect((await run(flow)).result.structured?.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("R12: an agent that is a function with an id and a run method can be a step, as it can be hired", async () => {
  const step = Object.assign(() => {}, says("a", "done"));
  const { result } = await run(new SequentialFlow({ name: "f", steps: [step] }));
  expect(result.output).toBe("done");
});
