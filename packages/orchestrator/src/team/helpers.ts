import {
  type AgentResult,
  checkFields,
  checkInteger,
  type DelegateTool,
  type HireLeaf,
  type Inbox,
  InvalidValueError,
  type Pipelines,
  type RunContext,
} from "@ravi/kernel";
import {
  AgentBase,
  HELPER_PREFIX,
  type LoopOptions,
  type LoopPlan,
  planLoop,
  toolLoop,
} from "@ravi/kernel/loop";
import { helperSchema, readHelper } from "./helper-args.ts";
import { safeName } from "./names.ts";
import type { DynamicHiringOptions } from "../options.ts";
import { termsOf } from "./terms.ts";

export const HIRE_HELPER = "hire_helper";

const DEFAULT_HELPERS = 5;
const DEFAULT_STEPS = 20;

const KNOWN = [
  "tools",
  "model",
  "maxHelpers",
  "maxSteps",
  "executionBudget",
  "priority",
  "askTimeoutS",
  "onPreempt",
  "onFull",
  "attachments",
] as const satisfies readonly (keyof DynamicHiringOptions)[];

/** The tool `hire_helper`, and how many helpers a run may have. */
export interface DynamicHiring {
  readonly tool: DelegateTool;
  readonly maxHelpers: number;
}

/**
 * A tool with which a model defines a helper and gives it a task. Everything about the helper comes from the call, which is
 * recorded with the model's answer, so a resumed run makes the same helper again.
 */
export function dynamicHiring(
  field: string,
  options: DynamicHiringOptions,
  own: Pick<LoopOptions, "model" | "validator" | "middleware">,
): DynamicHiring {
  checkFields(field, options, KNOWN);
  const { tools = [], model = own.model, maxSteps = DEFAULT_STEPS } = options;
  const maxHelpers = checkInteger(`${field}.maxHelpers`, options.maxHelpers ?? DEFAULT_HELPERS, 1);
  const terms = termsOf(field, options);
  // Checks the model, the steps and all tools once, as for a helper that has all of them.
  const { tools: allowed } = planLoop(field, { name: "helper", model, tools, maxSteps });
  const names = allowed.map(({ name }) => name);
  const input = helperSchema(names);
  const tool: DelegateTool = {
    kind: "delegate",
    name: HIRE_HELPER,
    description:
      "Hires a helper that you define yourself, hands it a task and returns its answer. For work that fits no other agent.",
    input,
    attachments: options.attachments,
    hire(args: unknown): HireLeaf {
      const parsed = readHelper(args, names);
      if (!("helper" in parsed)) {
        const { problem, path } = parsed;
        const expected = `valid arguments (${path === "" ? problem : `${path}: ${problem}`})`;
        throw new InvalidValueError({ field: HIRE_HELPER, value: args, expected });
      }
      const { name, instructions, tools: chosen, task } = parsed.helper;
      const plan = planLoop(HIRE_HELPER, {
        name: safeName(`${HIRE_HELPER}.name`, name, HELPER_PREFIX),
        description: "Defined by the model that hired it.",
        model,
        instructions,
        tools: allowed.filter((candidate) => chosen.includes(candidate.name)),
        maxSteps,
        validator: own.validator,
        middleware: guardsOf(own.middleware),
      });
      return { ...terms, kind: "hire", agent: new Helper(plan), input: task };
    },
  };
  return { tool: Object.freeze(tool), maxHelpers };
}

/** The orchestrator's own layers around calls hold for its helpers too: else its model could have them do what these do not allow it. */
function guardsOf(middleware: Pipelines | undefined): Pipelines | undefined {
  return middleware && { chat: middleware.chat, function: middleware.function };
}

class Helper extends AgentBase {
  private readonly plan: LoopPlan;

  constructor(plan: LoopPlan) {
    super(plan.id, plan, undefined);
    this.plan = plan;
  }

  run(ctx: RunContext, inbox: Inbox): Promise<AgentResult> {
    return toolLoop(this.plan, ctx, inbox);
  }
}
