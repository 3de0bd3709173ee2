import type { HireOutcome, RunContext } from "@ravi/kernel";
import { checkFunction, checkText, type LoopInput } from "@ravi/kernel/loop";
import { Flow, type FlowOptions } from "./flow.ts";
import { type FlowResult, incomplete, type StepResult, toStepResult } from "./results.ts";
import { type FlowStep, hireStep, readSteps, type Step } from "./steps.ts";

const OWNER = "SequentialFlow";

export interface SequentialFlowOptions extends FlowOptions {
  /** The steps, in order; at least one. */
  readonly steps: readonly FlowStep[];
  /**
   * Returns the input of the next step. Default: the flow's input, then the output of each earlier step under its name. It must
   * be pure: it is called again when a run is replayed.
   */
  readonly accumulate?: ((input: string, before: readonly StepResult[]) => string) | undefined;
}

/**
 * Runs one step after the other. Each step sees the output of the earlier ones, and the output of the last step is the flow's. It stops at
 * the first step that is not completed, because the next one would build on an incomplete result.
 */
export class SequentialFlow extends Flow {
  protected readonly branches: number;
  private readonly steps: readonly Step[];
  private readonly accumulate: NonNullable<SequentialFlowOptions["accumulate"]>;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: SequentialFlowOptions) {
    super(OWNER, options, ["steps", "accumulate"]);
    this.steps = readSteps(`${OWNER}.steps`, options.steps);
    this.branches = this.steps.length;
    this.accumulate = checkFunction(`${OWNER}.accumulate`, options.accumulate) ?? inputAndResults;
  }

  protected async flow(ctx: RunContext, { input, attachments }: LoopInput): Promise<FlowResult> {
    const done: StepResult[] = [];
    const outcomes: HireOutcome[] = [];
    for (const step of this.steps) {
      const task = checkText(`${OWNER}.accumulate(input, before)`, this.accumulate(input, [...done]));
      const outcome = await hireStep(ctx, step, { input: task, attachments });
      outcomes.push(outcome);
      done.push(toStepResult(step.name, outcome));
      if (outcome.status !== "completed") return incomplete(ctx, outcomes, lastOutput(done), done);
      // The flow may lose its slot before the next step, and then ends with this.
      ctx.draft?.(lastOutput(done));
    }
    // Even if it is empty: an empty answer of the last step is an answer.
    const output = done.at(-1)?.output ?? "";
    return { status: "completed", output, structured: done, stopReason: "done" };
  }
}

function inputAndResults(input: string, before: readonly StepResult[]): string {
  return [input, ...before.map(({ name, output }) => `## ${name}\n\n${output}`)].join("\n\n");
}

/** The output of an incomplete flow: that of the last step that has any. */
function lastOutput(done: readonly StepResult[]): string {
  return done.findLast(({ output }) => output !== "")?.output ?? "";
}
