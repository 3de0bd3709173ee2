import { type Agent, agentName, checkFields, type DelegateTool, InvalidValueError } from "@ravi/kernel";
import { checkAgent, delegateTo, isAgent } from "@ravi/kernel/loop";
import { safeName } from "./names.ts";
import type { SubAgentConfig } from "../options.ts";
import { termsOf } from "./terms.ts";

const KNOWN = [
  "agent",
  "name",
  "description",
  "attachments",
  "priority",
  "askTimeoutS",
  "onTimeout",
  "onPreempt",
  "onFull",
  "executionBudget",
  "retention",
] as const satisfies readonly (keyof SubAgentConfig)[];

/** One tool `handoff_<name>` for each sub-agent. Throws an `InvalidValueError` if a config is wrong or two names clash. */
export function handoffsFor(field: string, subAgents: readonly SubAgentConfig[]): DelegateTool[] {
  const list: unknown = subAgents;
  if (!Array.isArray(list)) {
    throw new InvalidValueError({ field, value: subAgents, expected: "an array of { agent, … }" });
  }
  const taken = new Map<string, number>();
  // `map` would skip the holes of a sparse array.
  return Array.from(subAgents, (config, at) => {
    const path = `${field}[${at}]`;
    // An agent by itself, as `team` of the sdk takes it. Here its own fields would be refused one by one.
    if (isAgent(config))
      throw new InvalidValueError({
        field: path,
        value: config,
        expected: "{ agent: … }, with the agent in it",
      });
    checkFields(path, config, KNOWN);
    checkAgent(`${path}.agent`, config.agent);
    const {
      agent,
      name = agentName(agent.id),
      description = defaultDescription(agent),
      attachments,
    } = config;
    checkDescription(`${path}.description`, description);
    const tool = safeName(`${path}.name`, name, "handoff_");
    const takenBy = taken.get(tool);
    if (takenBy !== undefined) {
      const expected = `a unique name: its tool would be called ${tool}, like that of ${field}[${takenBy}]; set \`name\` on one of them`;
      throw new InvalidValueError({ field: `${path}.name`, value: name, expected });
    }
    taken.set(tool, at);
    return delegateTo(agent, { name: tool, description, attachments, ...termsOf(path, config) });
  });
}

/** Checked here, because otherwise the provider would refuse the tool in the middle of a paid run. */
function checkDescription(field: string, value: unknown): void {
  if (typeof value === "string") return;
  throw new InvalidValueError({
    field,
    value,
    expected: "a string that tells the model when to hand work to this agent",
  });
}

function defaultDescription(agent: Agent): string {
  const name = agentName(agent.id);
  return agent.description === undefined
    ? `Hands a task to ${name} and returns its answer.`
    : `Hands a task to ${name}: ${agent.description}`;
}
