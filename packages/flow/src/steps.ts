import {
  type Agent,
  agentName,
  checkFields,
  checkOneOf,
  executionBudget,
  type HireLeaf,
  type HireOutcome,
  HistoryRetention,
  InvalidValueError,
  Priority,
  type RunContext,
} from "@ravi/kernel";
import {
  asOwn,
  checkAgent,
  checkHireChoices,
  checkText,
  hasMethod,
  hireAll,
  isAgent,
  type LoopInput,
} from "@ravi/kernel/loop";

/** An agent and the terms on which it is hired. */
export interface FlowStepConfig extends Omit<HireLeaf, "kind" | "input" | "attachments" | "onTimeout"> {
  /** The step's name in results. Default: the agent's name. */
  readonly name?: string | undefined;
  /**
   * What the agent is asked, instead of what the flow would ask it; a function gets that. It must be pure: it is called again when a run is
   * replayed.
   */
  readonly input?: string | ((given: string) => string) | undefined;
}

/** An agent, or an agent with the terms on which it is hired. A flow is an agent too. */
export type FlowStep = Agent | FlowStepConfig;

/** A validated step. */
export interface Step {
  readonly name: string;
  leaf(input: string, attachments?: HireLeaf["attachments"]): HireLeaf;
}

const KNOWN = [
  "agent",
  "name",
  "input",
  "priority",
  "executionBudget",
  "retention",
  "timeoutS",
  "onPreempt",
  "onFull",
] as const satisfies readonly (keyof FlowStepConfig)[];

/** Hires the agent of one step and waits for its outcome. */
export async function hireStep(
  ctx: RunContext,
  step: Step,
  { input, attachments }: LoopInput,
): Promise<HireOutcome> {
  const [outcome] = await hireAll(ctx, [step.leaf(input, attachments)]);
  if (outcome === undefined) throw new TypeError("the hire has no outcome");
  return outcome;
}

export function readSteps(field: string, steps: readonly FlowStep[]): readonly Step[] {
  const list: unknown = steps;
  if (!Array.isArray(list) || list.length === 0) {
    throw new InvalidValueError({ field, value: steps, expected: "a non-empty array of agents" });
  }
  // `map` would skip the holes of a sparse array, and each would be a branch without an answer.
  return Object.freeze(Array.from(steps, (step, at) => readStep(`${field}[${at}]`, step)));
}

export function readStep(field: string, step: FlowStep): Step {
  const config = isMeantAsAgent(step) ? agentAlone(field, step) : readConfig(field, step);
  const { agent, name, input, ...terms } = config;
  const ask = (given: string): string =>
    typeof input === "function" ? checkText(`${field}.input(given)`, input(given)) : (input ?? given);
  return Object.freeze({
    name: name ?? agentName(agent.id),
    leaf: (given: string, attachments?: HireLeaf["attachments"]): HireLeaf => ({
      ...terms,
      kind: "hire",
      agent,
      input: ask(given),
      attachments,
    }),
  });
}

function readConfig(field: string, config: FlowStepConfig): FlowStepConfig {
  checkFields(field, config, KNOWN);
  const { agent, input, priority, retention, timeoutS } = config;
  checkAgent(`${field}.agent`, agent);
  if (config.name !== undefined) checkText(`${field}.name`, config.name);
  if (input !== undefined && typeof input !== "string" && typeof input !== "function")
    throw new InvalidValueError({
      field: `${field}.input`,
      value: input,
      expected: "a string or a function",
    });
  if (priority !== undefined) checkOneOf(`${field}.priority`, priority, Priority);
  if (retention !== undefined) checkOneOf(`${field}.retention`, retention, HistoryRetention);
  checkHireChoices(field, config);
  if (config.executionBudget !== undefined) executionBudget(config.executionBudget);
  if (timeoutS !== undefined && !(Number.isFinite(timeoutS) && timeoutS > 0)) {
    const expected = "a number of seconds greater than 0";
    throw new InvalidValueError({ field: `${field}.timeoutS`, value: timeoutS, expected });
  }
  return asOwn<FlowStepConfig>(config, KNOWN);
}

/** The terms of a hire have no `run`. */
function isMeantAsAgent(step: FlowStep): step is Agent {
  return isAgent(step) || hasMethod(step, "run");
}

function agentAlone(field: string, agent: Agent): FlowStepConfig {
  checkAgent(field, agent);
  return { agent };
}
