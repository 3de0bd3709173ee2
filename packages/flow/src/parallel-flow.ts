import { InvalidValueError, type MaybePromise, type RunContext } from "@ravi/kernel";
import { checkText, hireAll, type LoopInput } from "@ravi/kernel/loop";
import { Flow, type FlowOptions } from "./flow.ts";
import { type FlowResult, incomplete, type StepResult, toStepResult } from "./results.ts";
import { type FlowStep, readSteps, type Step } from "./steps.ts";

const OWNER = "ParallelFlow";

/**
 * How the results of all branches become one output. A function gets them in the order of the branches. It must be pure: it is
 * called again when a run is replayed.
 */
export type Combine = "concat" | "vote" | ((results: readonly StepResult[]) => MaybePromise<string>);

export interface ParallelFlowOptions extends FlowOptions {
  /** The agents to run at once; at least one. */
  readonly branches: readonly FlowStep[];
  /**
   * `concat`: all outputs one after the other, each under its branch's name. `vote`: the answer that most branches gave, compared exactly
   * except for white space at both ends; in a tie, the one whose branch comes first. Default: `concat`.
   */
  readonly combine?: Combine | undefined;
}

/** Runs all branches at once with the same input. It is completed only if every branch is. */
export class ParallelFlow extends Flow {
  protected readonly branches: number;
  private readonly steps: readonly Step[];
  private readonly combine: (results: readonly StepResult[]) => MaybePromise<string>;

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: ParallelFlowOptions) {
    super(OWNER, options, ["branches", "combine"]);
    this.steps = readSteps(`${OWNER}.branches`, options.branches);
    this.branches = this.steps.length;
    this.combine = combineBy(options.combine ?? "concat");
  }

  protected async flow(ctx: RunContext, { input, attachments }: LoopInput): Promise<FlowResult> {
    const outcomes = await hireAll(
      ctx,
      this.steps.map((step) => step.leaf(input, attachments)),
    );
    const results = this.steps.flatMap(({ name }, at) => {
      const outcome = outcomes[at];
      return outcome === undefined ? [] : [toStepResult(name, outcome)];
    });
    const isComplete = outcomes.every(({ status }) => status === "completed");
    if (!isComplete && results.every(({ output }) => output === ""))
      return incomplete(ctx, outcomes, "", results);
    const output = checkText(`${OWNER}.combine(results)`, await this.combine([...results]));
    if (isComplete) return { status: "completed", output, structured: results, stopReason: "done" };
    return incomplete(ctx, outcomes, output, results);
  }
}

function combineBy(combine: Combine): (results: readonly StepResult[]) => MaybePromise<string> {
  if (combine === "concat") return concat;
  if (combine === "vote") return vote;
  if (typeof combine === "function") return combine;
  const expected = '"concat", "vote", or a function of the results that returns a string';
  throw new InvalidValueError({ field: `${OWNER}.combine`, value: combine, expected });
}

function concat(results: readonly StepResult[]): string {
  return results.map((result) => `## ${result.name}\n\n${describeResult(result)}`).join("\n\n");
}

/** Marks an incomplete answer, so that it does not pass for a complete one. */
function describeResult({ status, output, reason }: StepResult): string {
  if (status === "completed") return output;
  return `(${status}: ${reason ?? "no reason given"})${output === "" ? "" : `\n\n${output}`}`;
}

/** Only completed branches have a vote. */
function vote(results: readonly StepResult[]): string {
  const votes = new Map<string, number>();
  for (const { status, output } of results) {
    const answer = output.trim();
    // An empty answer is no vote.
    if (status === "completed" && answer !== "") votes.set(answer, (votes.get(answer) ?? 0) + 1);
  }
  let winner = "";
  let most = 0;
  // In the order of the branches, so that in a tie the first one wins.
  for (const [answer, count] of votes) {
    if (count <= most) continue;
    winner = answer;
    most = count;
  }
  return winner;
}
