import {
  type Agent,
  type DelegateTool,
  type Dependencies,
  type HireLeaf,
  type HireOutcome,
  InvalidValueError,
  isDelegate,
  type Tool,
} from "@ravi/kernel";
import { hasNoSeat, hireAll, tellHandoff, toolSpec } from "@ravi/kernel/loop";

// Helpers for strategies that hire.

/** A frozen copy of the dependencies with more tools. Throws an `InvalidValueError` if a tool name is already taken. */
export function withExtraTools(deps: Dependencies, extra: readonly (Tool | DelegateTool)[]): Dependencies {
  const names = new Set(deps.tools.map(({ name }) => name));
  for (const { name } of extra) {
    if (names.has(name))
      throw new InvalidValueError({
        field: "tools",
        value: name,
        expected: "a unique name; another tool already has this name",
      });
    names.add(name);
  }
  return Object.freeze({ ...deps, tools: Object.freeze([...deps.tools, ...extra]) });
}

/** Hires one worker and waits for its outcome. If no slot is free, it works in its parent's slot, in a separate conversation. */
export async function spawnChild<T>(
  deps: Dependencies,
  leaf: Omit<HireLeaf<T>, "kind">,
): Promise<HireOutcome<T>> {
  const [outcome] = await spawnChildren(deps, [leaf]);
  if (outcome === undefined) throw new TypeError(`hiring ${leaf.agent.id} returned no outcome`);
  return outcome;
}

/** Hires several workers at once, as many as there are slots, and then the others. Outcomes come in the order of `leaves`. */
export async function spawnChildren<T>(
  { runtime }: Dependencies,
  leaves: readonly Omit<HireLeaf<T>, "kind">[],
): Promise<readonly HireOutcome<T>[]> {
  for (const leaf of leaves) tellHandoff(runtime, leaf);
  return hireAll(
    runtime,
    leaves.map((leaf): HireLeaf<T> => ({ ...leaf, kind: "hire" })),
  );
}

/** Hires those of a batch again that were denied a slot, now that the others have left theirs. */
export async function hireAgain(
  { runtime }: Dependencies,
  hires: readonly { readonly leaf: HireLeaf; readonly outcome: HireOutcome }[],
): Promise<readonly HireOutcome[]> {
  const denied = hires.filter(({ outcome }) => hasNoSeat(outcome));
  const again = await hireAll(
    runtime,
    denied.map(({ leaf }) => leaf),
  );
  return hires.map((hire) => again[denied.indexOf(hire)] ?? hire.outcome);
}

/** The workers as a list for a prompt. */
export function describeWorkers(workers: Readonly<Record<string, Agent>>): string {
  return Object.entries(workers)
    .map(([role, { description }]) => `- ${role}${description === undefined ? "" : `: ${description}`}`)
    .join("\n");
}

export function describeTools(tools: readonly (Tool | DelegateTool)[]): string {
  return tools.map(describeTool).join("\n");
}

/** The same with the JSON Schema of each tool's input, for a model that writes the input without being offered the tool. */
export function describeInputs(tools: readonly (Tool | DelegateTool)[]): string {
  return tools
    .map((tool) => `${describeTool(tool)}\n  input: ${JSON.stringify(toolSpec(tool).parameters)}`)
    .join("\n");
}

function describeTool(tool: Tool | DelegateTool): string {
  return `- ${tool.name}: ${tool.description}${isDelegate(tool) ? " (another agent)" : ""}`;
}
