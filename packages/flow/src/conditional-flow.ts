import { checkBoolean, type MaybePromise, type RunContext } from "@ravi/kernel";
import { checkPort, isStop, type LoopInput, messageOf } from "@ravi/kernel/loop";
import { Flow, type FlowOptions } from "./flow.ts";
import { type FlowResult, incomplete, toStepResult } from "./results.ts";
import { type FlowStep, hireStep, readStep, type Step } from "./steps.ts";

const OWNER = "ConditionalFlow";

/**
 * Decides whether `whenTrue` is taken. It is called again when a run is replayed, so it must depend only on its input and on the context
 * (`ctx.now()`, a model through `ctx.llm`).
 */
export type Predicate = (input: string, ctx: RunContext) => MaybePromise<boolean>;

export interface ConditionalFlowOptions extends FlowOptions {
  /** True takes `whenTrue`, false takes `otherwise`. */
  readonly if: Predicate;
  readonly whenTrue: FlowStep;
  /** Default: the flow returns its input unchanged. */
  readonly otherwise?: FlowStep | undefined;
}

/** Runs one of two branches. If the predicate throws, `otherwise` is taken. */
export class ConditionalFlow extends Flow {
  protected readonly branches: number;
  private readonly predicate: Predicate;
  private readonly whenTrue: Step;
  private readonly otherwise: Step | undefined;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: ConditionalFlowOptions) {
    super(OWNER, options, ["if", "whenTrue", "otherwise"]);
    checkPort(`${OWNER}.if`, options.if, "a function (input, ctx) that returns true or false");
    this.predicate = options.if;
    this.whenTrue = readStep(`${OWNER}.whenTrue`, options.whenTrue);
    this.otherwise =
      options.otherwise === undefined ? undefined : readStep(`${OWNER}.otherwise`, options.otherwise);
    this.branches = this.otherwise === undefined ? 1 : 2;
  }

  protected async flow(ctx: RunContext, given: LoopInput): Promise<FlowResult> {
    const { input } = given;
    const step = (await this.isTrue(ctx, input)) ? this.whenTrue : this.otherwise;
    if (step === undefined) return { status: "completed", output: input, structured: [], stopReason: "done" };
    const outcome = await hireStep(ctx, step, given);
    const result = toStepResult(step.name, outcome);
    if (outcome.status !== "completed") return incomplete(ctx, [outcome], result.output, [result]);
    return { status: "completed", output: result.output, structured: [result], stopReason: "done" };
  }

  private async isTrue(ctx: RunContext, input: string): Promise<boolean> {
    let isTrue: boolean;
    try {
      isTrue = await this.predicate(input, ctx);
    } catch (error) {
      // If the run is cancelled or out of money, no branch is taken at all.
      if (isStop(error)) throw error;
      ctx.emit({ type: "progress", name: "predicateFailed", data: { message: messageOf(error) } });
      return false;
    }
    // The answer of a model, `"no"`, would take the branch for yes.
    return checkBoolean(`${OWNER}.if(input, ctx)`, isTrue);
  }
}
