import type { MaybePromise } from "@ravi/kernel";
import { declareCases } from "./case.ts";
import { askCases } from "./runtime/asks.ts";
import { crashCases } from "./runtime/crashes.ts";
import { hireCases } from "./runtime/hires.ts";
import { lifeCases } from "./runtime/life.ts";
import { ruleCases } from "./runtime/rules.ts";
import { sendCases } from "./runtime/sends.ts";
import type {
  RuntimeAbility,
  RuntimeCaps,
  RuntimeCase,
  RuntimeHouse,
  RuntimeUnderTest,
} from "./runtime/stage.ts";
import { eventCases } from "./runtime/events.ts";
import { onEventCases } from "./runtime/on-event.ts";
import { inspectCases } from "./runtime/inspects.ts";
import { recordCases } from "./runtime/record.ts";
import { reasonCases } from "./runtime/reasons.ts";
import { retryCases } from "./runtime/retries.ts";
import { waitCases } from "./runtime/waits.ts";

/** All cases of `describeRuntime`. */
export const runtimeCases: readonly RuntimeCase[] = [
  ...lifeCases,
  ...waitCases,
  ...reasonCases,
  ...recordCases,
  ...inspectCases,
  ...hireCases,
  ...ruleCases,
  ...askCases,
  ...eventCases,
  ...onEventCases,
  ...sendCases,
  ...crashCases,
  ...retryCases,
];

export interface RuntimeSuiteOptions {
  /** What this runtime cannot do. The cases that need it are left out. */
  readonly without?: readonly RuntimeAbility[] | undefined;
}

/**
 * Declares vitest tests for what every runtime must do, on any engine. `open` returns a new, empty house. `caps` are what an
 * application would pass: a headcount that enforces `spawnBudget`, and a ledger that enforces `executionBudget`.
 */
export function describeRuntime(
  name: string,
  open: () => MaybePromise<RuntimeHouse>,
  caps: RuntimeCaps,
  { without = [] }: RuntimeSuiteOptions = {},
): void {
  declareCases(
    `runtime ${name}`,
    runtimeCases,
    (needs) => !without.includes(needs),
    (each) => assertRuntimeCase(each, open, caps),
  );
}

/** Runs one case. Rejects if the runtime does not do what the case says. */
export async function assertRuntimeCase(
  each: RuntimeCase,
  open: () => MaybePromise<RuntimeHouse>,
  caps: RuntimeCaps,
): Promise<void> {
  const house = await open();
  const living = new Set<RuntimeUnderTest>();
  try {
    await each.run({
      caps,
      async create(setup) {
        const runtime = await house.create(setup);
        living.add(runtime);
        return runtime;
      },
      async crash(runtime) {
        living.delete(runtime);
        await house.crash(runtime);
      },
    });
  } finally {
    for (const runtime of living) await runtime.close();
    await house.close();
  }
}
