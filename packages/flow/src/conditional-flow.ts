import { InvalidValueError, type MaybePromise, type RunContext } from "@ravi/kernel";
import { hireAll, isStop, messageOf } from "@ravi/kernel/loop";
import { Flow, type FlowOptions } from "./flow.ts";
import { type FlowResult, incomplete, toStepResult } from "./results.ts";
import { type FlowStep, readStep, type Step } from "./steps.ts";

const OWNER = "ConditionalFlow";

/**
 * Whether `whenTrue` is taken. A replay asks again, so it must go by its input and what the context says
 * (`ctx.now()`, a model by `ctx.llm`).
 */
export type Predicate = (input: string, ctx: RunContext) => MaybePromise<boolean>;

export interface ConditionalFlowOptions extends FlowOptions {
  readonly if: Predicate;
  readonly whenTrue: FlowStep;
  /** Default: the flow gives its input back as it is. */
  readonly otherwise?: FlowStep | undefined;
}

/** One of two branches. A predicate that throws has not said yes: the other branch is taken. */
export class ConditionalFlow extends Flow {
  protected readonly branches: number;
  private readonly predicate: Predicate;
  private readonly onYes: Step;
  private readonly onNo: Step | undefined;

  constructor(options: ConditionalFlowOptions) {
    super(OWNER, options, ["if", "whenTrue", "otherwise"]);
    if (typeof options.if !== "function") {
      const expected = "a function of the input that says yes or no";
      throw new InvalidValueError({ field: `${OWNER}.if`, value: options.if, expected });
    }
    this.predicate = options.if;
    this.onYes = readStep(`${OWNER}.whenTrue`, options.whenTrue);
    this.onNo =
      options.otherwise === undefined ? undefined : readStep(`${OWNER}.otherwise`, options.otherwise);
    this.branches = this.onNo === undefined ? 1 : 2;
  }

  protected async flow(ctx: RunContext, input: string): Promise<FlowResult> {
    const step = (await this.isTrue(ctx, input)) ? this.onYes : this.onNo;
    if (step === undefined) return { status: "completed", output: input, structured: [], stopReason: "done" };
    const [outcome] = await hireAll(ctx, [step.leaf(input)]);
    if (outcome === undefined) throw new TypeError("a hire without an outcome");
    const result = toStepResult(step.name, outcome);
    if (outcome.status !== "completed") return incomplete(ctx, [outcome], result.output, [result]);
    return { status: "completed", output: result.output, structured: [result], stopReason: "done" };
  }

  private async isTrue(ctx: RunContext, input: string): Promise<boolean> {
    try {
      return await this.predicate(input, ctx);
    } catch (error) {
      // A cancelled run, or one without money, takes no branch at all.
      if (isStop(error)) throw error;
      ctx.emit({ type: "progress", name: "predicateFailed", data: { message: messageOf(error) } });
      return false;
    }
  }
}
