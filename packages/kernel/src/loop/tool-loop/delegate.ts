import { ownSchema } from "../own-schema.ts";
import type { Agent } from "../../agent/agent.ts";
import type { HireLeaf } from "../../agent/leaves.ts";
import { asOwn, checkFields, checkOneOf } from "../../core/check.ts";
import { agentName } from "../../core/ids.ts";
import { InvalidValueError } from "../../errors/errors.ts";
import type { SchemaResult } from "../../model/schema.ts";
import { checkToolName, type DelegateTool } from "../../model/tool.ts";
import { executionBudget } from "../../policy/execution-budget.ts";
import { HistoryRetention, Priority } from "../../policy/scales.ts";
import { checkDelegateChoices, HIRE_TERMS } from "../hire-choices.ts";

/** The terms on which an agent is hired. */
export interface DelegateOptions extends Omit<HireLeaf, "kind" | "agent" | "input" | "attachments"> {
  /** The tool's name. Default: the agent's name. */
  readonly name?: string | undefined;
  /** Tells the model when to hand work to it. Default: the agent's description. */
  readonly description?: string | undefined;
  /** `inherit`: the agent gets the pictures and files that came with the input of the one who hires it. Default: none. */
  readonly attachments?: DelegateTool["attachments"];
}

const KNOWN = ["name", "description", ...HIRE_TERMS] as const satisfies readonly (keyof DelegateOptions)[];

interface Task {
  readonly task: string;
}

const TASK = ownSchema(taskSchema, checkTask);

function taskSchema(): Record<string, unknown> {
  return {
    type: "object",
    properties: {
      task: {
        type: "string",
        description:
          "The complete task, with everything that is needed to do it: the agent sees nothing else of this conversation.",
      },
    },
    required: ["task"],
    additionalProperties: false,
  };
}

function checkTask(value: unknown): SchemaResult<Task> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { issues: [{ message: 'expected an object { "task": "..." }' }] };
  const { task, ...rest }: { readonly task?: unknown } = value;
  if (typeof task !== "string" || task.trim() === "")
    return { issues: [{ message: "expected a non-empty string that says what to do", path: ["task"] }] };
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    return { issues: [{ message: "unknown field; put everything into task", path: [unknown] }] };
  return { value: { task } };
}

/** Makes a tool with which another agent's model can hire this agent. Throws an `InvalidValueError` if an option is wrong. */
export function delegateTo<T>(agent: Agent<T>, options: DelegateOptions = {}): DelegateTool<T> {
  checkFields("asDelegate", options, KNOWN);
  const own = asOwn<DelegateOptions>(options, KNOWN);
  const { name = agentName(agent.id), description, attachments, ...terms } = own;
  checkToolName(name);
  checkTerms(own);
  return Object.freeze({
    kind: "delegate",
    name,
    description: description ?? agent.description ?? `Hands a task to ${name} and returns its answer.`,
    input: TASK,
    ...(attachments !== undefined && { attachments }),
    hire(args: unknown): HireLeaf<T> {
      const checked = checkTask(args);
      if (checked.issues === undefined) return { ...terms, kind: "hire", agent, input: checked.value.task };
      throw new InvalidValueError({
        field: `${name}: arguments`,
        value: args,
        expected: '{ "task": "..." }',
      });
    },
  });
}

/** Checked when the tool is made, so that a mistake is not reported to the model in the middle of a paid run. */
function checkTerms({ description, ...terms }: DelegateOptions): void {
  if (description !== undefined && typeof description !== "string")
    throw wrong("description", description, "a string that tells the model when to hand work to this agent");
  const { timeoutS } = terms;
  if (timeoutS !== undefined && !(Number.isFinite(timeoutS) && timeoutS > 0))
    throw wrong("timeoutS", timeoutS, "a number of seconds greater than 0");
  if (terms.executionBudget !== undefined) executionBudget(terms.executionBudget);
  if (terms.priority !== undefined) checkOneOf("asDelegate.priority", terms.priority, Priority);
  if (terms.retention !== undefined) checkOneOf("asDelegate.retention", terms.retention, HistoryRetention);
  checkDelegateChoices("asDelegate", terms);
}

function wrong(term: string, value: unknown, expected: string): InvalidValueError {
  return new InvalidValueError({ field: `asDelegate.${term}`, value, expected });
}
