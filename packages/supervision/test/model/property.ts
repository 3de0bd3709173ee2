import fc from "fast-check";
import { Roster, type RosterOptions } from "../../src/headcount/roster.ts";
import { steps } from "./commands.ts";
import { Reference } from "./reference.ts";
import { AGING_MS, ROOT, System } from "./system.ts";

const budgets = fc.record({
  maxAgents: fc.integer({ min: 1, max: 5 }),
  allowPreempt: fc.constantFrom(true, true, true, false),
  maxTotal: fc.constantFrom(null, null, 12),
  maxDepth: fc.constantFrom(null, null, 2),
});

/** The headcount does what the reference does, whatever happens in whatever order. */
export function headcountProperty(
  Kind: new (options: RosterOptions) => Roster = Roster,
): ReturnType<typeof fc.asyncProperty> {
  const commands = fc.commands(steps, { maxCommands: 100, size: "max" });
  return fc.asyncProperty(budgets, commands, async (budget, all) => {
    await fc.asyncModelRun(
      () => ({ model: new Reference(budget, ROOT, AGING_MS), real: new System(Kind, budget) }),
      all,
    );
  });
}
