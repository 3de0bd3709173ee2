import { placeholdersIn, type RewooStep } from "../parse/rewoo-plan.ts";

export interface Levels {
  /** Steps that can run at once, level after level. */
  readonly levels: readonly (readonly RewooStep[])[];
  /** Steps that can never run, by id, and why. */
  readonly stuck: ReadonlyMap<string, string>;
}

/**
 * Groups the steps into levels: each step runs as soon as all its inputs exist. A step in a cycle, or one that needs an unknown
 * step, never runs.
 */
export function levelsOf(steps: readonly RewooStep[]): Levels {
  const known = new Set(steps.map(({ id }) => id));
  const levels: RewooStep[][] = [];
  const done = new Set<string>();
  let waiting = [...steps];
  for (;;) {
    const ready = waiting.filter(({ input }) => placeholdersIn(input).every((id) => done.has(id)));
    if (ready.length === 0) break;
    levels.push(ready);
    for (const { id } of ready) done.add(id);
    waiting = waiting.filter(({ id }) => !done.has(id));
  }
  return { levels, stuck: new Map(waiting.map((step) => [step.id, reasonFor(step, waiting, known)])) };
}

function reasonFor(step: RewooStep, waiting: readonly RewooStep[], known: ReadonlySet<string>): string {
  const missing = placeholdersIn(step.input).find((id) => !known.has(id));
  if (missing !== undefined) return `there is no step #${missing}`;
  const cycle = cycleFrom(step, waiting);
  return cycle === undefined
    ? "it depends on a step that can never run"
    : `it depends on itself (${cycle.map((id) => `#${id}`).join(" → ")})`;
}

/** The path from a step back to itself, if there is one. */
function cycleFrom(start: RewooStep, steps: readonly RewooStep[]): string[] | undefined {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const seen = new Set<string>();
  const walk = (id: string, path: readonly string[]): string[] | undefined => {
    for (const next of placeholdersIn(byId.get(id)?.input ?? null)) {
      if (next === start.id) return [...path, next];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = walk(next, [...path, next]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(start.id, [start.id]);
}
