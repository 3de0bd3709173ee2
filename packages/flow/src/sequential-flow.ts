import { checkFunction, checkText } from "./check.ts";
import type { HireOutcome, RunContext } from "@ravi/kernel";
import { hireAll } from "@ravi/kernel/loop";
import { Flow, type FlowOptions } from "./flow.ts";
import { type FlowResult, incomplete, type StepResult, toStepResult } from "./results.ts";
import { type FlowStep, readSteps, type Step } from "./steps.ts";

const OWNER = "SequentialFlow";

export interface SequentialFlowOptions extends FlowOptions {
  readonly steps: readonly FlowStep[];
  /** What a step is given: the flow's input and what each step before it gave, unless this says otherwise. Pure: a replay asks again. */
  readonly accumulate?: ((input: string, before: readonly StepResult[]) => string) | undefined;
}

/**
 * One step after the other; each sees what those before it have given, and the last one's answer is the flow's. It ends at
 * the first step that is not completed: what comes after it would build on half of a result.
 */
export class SequentialFlow extends Flow {
  protected readonly branches: number;
  private readonly steps: readonly Step[];
  private readonly accumulate: NonNullable<SequentialFlowOptions["accumulate"]>;

  constructor(options: SequentialFlowOptions) {
    super(OWNER, options, ["steps", "accumulate"]);
    this.steps = readSteps(`${OWNER}.steps`, options.steps);
    this.branches = this.steps.length;
    this.accumulate = checkFunction(`${OWNER}.accumulate`, options.accumulate) ?? inputAndResults;
  }

  protected async flow(ctx: RunContext, input: string): Promise<FlowResult> {
    const done: StepResult[] = [];
    const outcomes: HireOutcome[] = [];
    for (const step of this.steps) {
      const task = checkText(`${OWNER}.accumulate(input, before)`, this.accumulate(input, done));
      const [outcome] = await hireAll(ctx, [step.leaf(task)]);
      if (outcome === undefined) break;
      outcomes.push(outcome);
      done.push(toStepResult(step.name, outcome));
      if (outcome.status !== "completed") return incomplete(ctx, outcomes, leftBy(done), done);
    }
    // Also where it is empty: a last step that takes everything out has said so.
    const output = done.at(-1)?.output ?? "";
    return { status: "completed", output, structured: done, stopReason: "done" };
  }
}

function inputAndResults(input: string, before: readonly StepResult[]): string {
  return [input, ...before.map(({ name, output }) => `## ${name}\n\n${output}`)].join("\n\n");
}

/** Of a flow that was cut off: what its last step has left, or where it has left nothing, what the one before it gave. */
function leftBy(done: readonly StepResult[]): string {
  return done.findLast(({ output }) => output !== "")?.output ?? "";
}
