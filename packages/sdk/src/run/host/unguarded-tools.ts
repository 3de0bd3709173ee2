import type { Agent, Logger, Pipelines } from "@ravi/kernel";
import { meantBy } from "@ravi/kernel/loop";
import { blueprintOf, teamOf } from "../../agents/made/blueprint.ts";
import { tellOnce } from "./tell-once.ts";

/**
 * Warns of a layer that guards a tool which no agent has, if one of the agents' tools has nearly that name: it would be called without the
 * approval that it was meant to need. It is no error, because layers are shared by agents and programs of which each has only some of the
 * tools: `get_user` may be there without `set_user`.
 */
export function tellUnguarded(shared: Pipelines, agents: readonly Agent[], logger: Logger | undefined): void {
  const team = agents.flatMap(teamOf);
  const guarded = [shared, ...team.map(({ pipelines }) => pipelines)]
    .flatMap((pipelines) => pipelines?.function?.tools ?? [])
    // A layer of one's own may have a field of that name with something else in it.
    .filter((name: unknown) => typeof name === "string");
  if (guarded.length === 0) return;
  const tools = team.flatMap((agent) => blueprintOf(agent)?.tools ?? []);
  const others = tools.filter((name) => !guarded.includes(name));
  for (const name of guarded) {
    const meant = tools.includes(name) ? undefined : meantBy(name, others);
    if (meant === undefined) continue;
    const called = `${JSON.stringify(name)}, which no agent of this run has`;
    tellOnce(
      logger,
      `a layer guards the tool ${called}; did you mean ${JSON.stringify(meant)}, which no layer guards by its name?`,
    );
  }
}
