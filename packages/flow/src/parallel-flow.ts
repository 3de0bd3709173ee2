import { InvalidValueError, type MaybePromise, type RunContext } from "@ravi/kernel";
import { hireAll } from "@ravi/kernel/loop";
import { checkText } from "./check.ts";
import { Flow, type FlowOptions } from "./flow.ts";
import { type FlowResult, incomplete, type StepResult, toStepResult } from "./results.ts";
import { type FlowStep, readSteps, type Step } from "./steps.ts";

const OWNER = "ParallelFlow";

/** How the results of all branches become one. A function of your own gets them in the order of the branches. Pure: a replay asks again. */
export type Combine = "concat" | "vote" | ((results: readonly StepResult[]) => MaybePromise<string>);

export interface ParallelFlowOptions extends FlowOptions {
  readonly branches: readonly FlowStep[];
  /**
   * `concat`: one after the other, each under its name. `vote`: the answer that most branches gave, to the letter but for the
   * space around it; of those with as many votes the one whose branch comes first. Default: concat.
   */
  readonly combine?: Combine | undefined;
}

/** All branches at once, with the same input. Complete only when each of them is. */
export class ParallelFlow extends Flow {
  protected readonly branches: number;
  private readonly steps: readonly Step[];
  private readonly combine: (results: readonly StepResult[]) => MaybePromise<string>;

  constructor(options: ParallelFlowOptions) {
    super(OWNER, options, ["branches", "combine"]);
    this.steps = readSteps(`${OWNER}.branches`, options.branches);
    this.branches = this.steps.length;
    this.combine = combineBy(options.combine ?? "concat");
  }

  protected async flow(ctx: RunContext, input: string): Promise<FlowResult> {
    const outcomes = await hireAll(
      ctx,
      this.steps.map((step) => step.leaf(input)),
    );
    const results = this.steps.flatMap(({ name }, at) => {
      const outcome = outcomes[at];
      return outcome === undefined ? [] : [toStepResult(name, outcome)];
    });
    const isComplete = outcomes.every(({ status }) => status === "completed");
    if (!isComplete && results.every(({ output }) => output === ""))
      return incomplete(ctx, outcomes, "", results);
    const output = checkText(`${OWNER}.combine(results)`, await this.combine(results));
    if (isComplete) return { status: "completed", output, structured: results, stopReason: "done" };
    return incomplete(ctx, outcomes, output, results);
  }
}

function combineBy(combine: Combine): (results: readonly StepResult[]) => MaybePromise<string> {
  if (combine === "concat") return concat;
  if (combine === "vote") return vote;
  if (typeof combine === "function") return combine;
  const expected = '"concat", "vote", or a function of the results that gives a text';
  throw new InvalidValueError({ field: `${OWNER}.combine`, value: combine, expected });
}

function concat(results: readonly StepResult[]): string {
  return results.map((result) => `## ${result.name}\n\n${shown(result)}`).join("\n\n");
}

/** Half of an answer is not passed off as an answer. */
function shown({ status, output, reason }: StepResult): string {
  if (status === "completed") return output;
  return `(${status}: ${reason ?? "no reason given"})${output === "" ? "" : `\n\n${output}`}`;
}

/** Only who has finished has a vote. */
function vote(results: readonly StepResult[]): string {
  const votes = new Map<string, number>();
  for (const { status, output } of results) {
    const answer = output.trim();
    // Who says nothing has not voted.
    if (status === "completed" && answer !== "") votes.set(answer, (votes.get(answer) ?? 0) + 1);
  }
  let winner = "";
  let most = 0;
  // In the order of the branches, so that of equals the first one wins.
  for (const [answer, count] of votes) {
    if (count <= most) continue;
    winner = answer;
    most = count;
  }
  return winner;
}
