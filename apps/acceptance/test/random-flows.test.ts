import fc from "fast-check";
import { expect, test } from "vitest";
import { type Agent, Priority, RunId, type Supervision } from "@ravi/kernel";
import { ConditionalFlow, ParallelFlow, SequentialFlow } from "@ravi/flow";
import { MemoryJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { cutJournal } from "../src/cut-journal.ts";
import { agent, done, governed, model } from "../src/leading.ts";

const RUNS = process.env["RAVI_LONG"] ? 2_000 : 100;

/** A flow of flows; its leaves call a model once. */
type Plan =
  | { readonly kind: "leaf"; readonly calls: number }
  | {
      readonly kind: "sequential" | "parallel" | "conditional";
      readonly parts: readonly Plan[];
      readonly onFull: "deny" | "queue";
      readonly priority: Priority;
    };

const { plan } = fc.letrec<{ plan: Plan }>((tie) => ({
  plan: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ kind: fc.constant("leaf" as const), calls: fc.nat(2) }),
    fc.record({
      kind: fc.constantFrom("sequential", "parallel", "conditional"),
      parts: fc.array(tie("plan"), { minLength: 1, maxLength: 3 }),
      onFull: fc.constantFrom("deny", "queue"),
      priority: fc.constantFrom(Priority.BACKGROUND, Priority.NORMAL, Priority.HIGH),
    }),
  ),
}));

function build(name: string, given: Plan): Agent {
  if (given.kind === "leaf") {
    return agent(name, async (ctx, { input }) => {
      for (let call = 0; call < given.calls; call++)
        await ctx.llm(
          model(() => "x"),
          { messages: [{ role: "user", content: `${name} ${call} ${input}` }] },
        );
      return done(name);
    });
  }
  const { kind, parts, onFull, priority } = given;
  const steps = parts.map((part, n) => ({ agent: build(`${name}_${n}`, part), onFull, priority }));
  const [first = { agent: agent("none", async () => done("")) }, second] = steps;
  if (kind === "sequential") return new SequentialFlow({ name, steps });
  if (kind === "parallel") return new ParallelFlow({ name, branches: steps });
  return new ConditionalFlow({ name, if: () => parts.length % 2 === 0, whenTrue: first, otherwise: second });
}

test("R25: a flow of flows is done whatever seats there are, the same after a crash at any place, and leaves no seat", async () => {
  await fc.assert(
    fc.asyncProperty(
      plan,
      fc.integer({ min: 1, max: 4 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (given, maxAgents, at) => {
        let seats: SpawnTracker | undefined;
        const services = {
          headcount: (root: Supervision) =>
            (seats = new SpawnTracker(root.spawnBudget, { rootId: root.rootId })),
        };
        const journal = new MemoryJournal();
        const root = new SequentialFlow({ name: "root", steps: [build("f", given)] });
        const start = { runId: "r", spawnBudget: { maxAgents } };
        const whole = await orStuck(governed({ ...services, journal }).run(root, "go", start).result);
        expect(whole).toMatchObject({ status: "completed" });
        expect(seats?.held).toBe(1);
        const records = journal.load(RunId("r"));
        const left = records.slice(0, 2 + Math.floor(at * (records.length - 2)));
        const again = new SequentialFlow({ name: "root", steps: [build("f", given)] });
        const resumed = governed({ ...services, journal: cutJournal("r", left), agents: [again] });
        const result = await orStuck(resumed.resume("r").result);
        expect(result?.output).toBe(whole?.output);
        expect(seats?.held).toBe(1);
      },
    ),
    { numRuns: RUNS },
  );
});

/** Nothing here waits for time, so what is not over after so many turns of the event loop never will be. */
async function orStuck<T>(running: Promise<T>): Promise<T | undefined> {
  const end: { result?: T } = {};
  void running.then((result) => (end.result = result));
  for (let turn = 0; turn < 5_000 && end.result === undefined; turn++)
    await new Promise((resolve) => setImmediate(resolve));
  return end.result;
}
