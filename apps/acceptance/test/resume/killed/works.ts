import fc from "fast-check";
import { Priority } from "@ravi/kernel";
import type {
  CallWork,
  LeafWork,
  RunWork,
  StepWork,
  Terms,
  ToolWork,
  Work,
} from "../../../src/killed/work.ts";

/** What the runs of one scene do; the same for the same seed. */
export function worksOf(seed: number, count: number): readonly RunWork[] {
  return fc.sample(run, { seed, numRuns: count }).map((each, n) => ({ ...each, runId: `r${n}` }));
}

const ms = fc.constantFrom(0, 5, 20, 60, 150, 300);
const call: fc.Arbitrary<CallWork> = fc.record({
  ms,
  fault: fc.constantFrom(undefined, undefined, undefined, undefined, "busy", "down", "refused", "broken"),
});
const tool: fc.Arbitrary<ToolWork> = fc.record({
  ms,
  idempotent: fc.boolean(),
  needsApproval: fc.constantFrom(false, false, false, true),
  way: fc.constantFrom("value", "value", "value", "large", "throws", "asks"),
});
const terms: fc.Arbitrary<Terms> = fc.record({
  priority: fc.constantFrom(Priority.BACKGROUND, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL),
  onFull: fc.constantFrom("deny", "queue"),
  onPreempt: fc.constantFrom("park", "return"),
});

function workOf(depth: number): fc.Arbitrary<Work> {
  const team = depth === 0 ? undefined : workOf(depth - 1);
  const hires = team === undefined ? [] : [fc.record({ do: fc.constant("hire" as const), team, terms })];
  const leaf: fc.Arbitrary<LeafWork> = fc.oneof(
    fc.record({ do: fc.constant("llm" as const), call }),
    fc.record({ do: fc.constant("tool" as const), tool }),
    fc.record({
      do: fc.constantFrom("loop" as const, "lead"),
      rounds: fc.integer({ min: 1, max: 4 }),
      call,
      terms,
    }),
    ...hires,
  );
  const spawn =
    team === undefined
      ? []
      : [
          fc.record({ do: fc.constant("spawn" as const), team, terms }),
          fc.record({ do: fc.constant("join" as const) }),
        ];
  const step: fc.Arbitrary<StepWork> = fc.oneof(
    leaf,
    leaf,
    leaf,
    ...spawn,
    fc.record({ do: fc.constant("batch" as const), leaves: many(leaf, 2, 4) }),
    fc.record({ do: fc.constant("sleep" as const), ms }),
    fc.record({
      do: fc.constantFrom("wait" as const, "receive", "take", "record", "facts", "remember"),
    }),
  );
  return many(step, 1 + depth * 3, 3 + depth * 4);
}

const run: fc.Arbitrary<Omit<RunWork, "runId">> = fc.record({
  steps: workOf(2),
  maxAgents: fc.integer({ min: 1, max: 6 }),
  maxTokens: fc.constantFrom(1_000_000, 1_000_000, 1_000_000, 2_000),
});

function many<T>(of: fc.Arbitrary<T>, minLength: number, maxLength: number): fc.Arbitrary<T[]> {
  return fc.array(of, { minLength, maxLength, size: "max" });
}
